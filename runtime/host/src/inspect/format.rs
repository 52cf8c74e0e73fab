//! What kind of file some bytes are, by how they begin.

use super::Refusal;

/// A kind of library that can be read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Elf,
    MachO,
}

const NATIVE: Format = if cfg!(target_os = "macos") { Format::MachO } else { Format::Elf };

/// The kind of library that this system loads; anything else is refused by its name.
pub(super) fn recognise(bytes: &[u8]) -> Result<Format, Refusal> {
    let found = match bytes {
        [0x7f, b'E', b'L', b'F', ..] => Format::Elf,
        [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => Format::MachO,
        // A universal binary begins as a Java class does; the number of its architectures is small, a class's version
        // is not.
        [0xca, 0xfe, 0xba, 0xbe | 0xbf, 0, 0, 0, 0..=30, ..] => Format::MachO,
        _ => return Err(Refusal::NotALibrary(other_kind(bytes))),
    };
    match found {
        found if found == NATIVE => Ok(found),
        Format::Elf => Err(Refusal::OtherSystem { found: "Linux or another ELF system" }),
        Format::MachO => Err(Refusal::OtherSystem { found: "macOS" }),
    }
}

fn other_kind(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'!', b'<', b'a' | b't', ..] => "an archive or static library",
        [b'#', b'!', ..] => "a script",
        [b'M', b'Z', ..] => "a Windows program or library",
        [0, b'a', b's', b'm', ..] => "a WebAssembly module",
        [0xca, 0xfe, 0xba, 0xbe, ..] => "a Java class",
        [0x1f, 0x8b, ..] | [b'P', b'K', 3, 4, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => "a compressed file",
        _ if is_text(&bytes[..bytes.len().min(512)]) => "a text",
        _ => "a file of an unknown kind",
    }
}

fn is_text(start: &[u8]) -> bool {
    start.utf8_chunks().all(|chunk| {
        let cut_at_the_end = chunk.invalid().len() < 4 && start.ends_with(chunk.invalid());
        cut_at_the_end && chunk.valid().chars().all(|char| !char.is_control() || char.is_ascii_whitespace())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> String {
        match recognise(bytes) {
            Ok(format) => format!("{format:?}"),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn files_are_known_by_their_beginning() {
        let files: [(&str, &[u8]); 11] = [
            ("archive", b"!<arch>\n"),
            ("thin archive", b"!<thin>\n"),
            ("script", b"#!/bin/sh\n"),
            ("program for Windows", b"MZ\x90\0"),
            ("module", b"\0asm\x01\0\0\0"),
            ("class", b"\xca\xfe\xba\xbe\0\0\0\x41"),
            ("compressed", b"\x1f\x8b\x08"),
            ("text", "GROUP ( /lib/libc.so.6 ) – linker".as_bytes()),
            ("text, cut within a character", &"…".as_bytes()[..2]),
            ("zeros", &[0; 64]),
            ("noise", b"\x01\x02\xff\xfe"),
        ];
        let table: Vec<String> = files.iter().map(|(name, bytes)| format!("{name}: {}", kind(bytes))).collect();
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_of_macos_is_refused_by_its_system() {
        for magic in [&b"\xcf\xfa\xed\xfe\x0c\0\0\x01"[..], b"\xca\xfe\xba\xbe\0\0\0\x02"] {
            assert_eq!(recognise(magic), Err(Refusal::OtherSystem { found: "macOS" }));
        }
        assert_eq!(kind(b"\xcf\xfa\xed\xfe"), "it was built for macOS, this machine runs linux");
    }

    #[test]
    #[cfg(target_os = "macos")]
    fn a_library_of_linux_is_refused_by_its_system() {
        assert!(matches!(recognise(b"\x7fELF\x02\x01"), Err(Refusal::OtherSystem { .. })));
    }
}
