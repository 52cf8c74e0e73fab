//! Reading a Mach-O library, or this machine's part of a universal one.

use object::macho::{self, MachHeader64};
use object::read::macho::{
    FatArch, LoadCommandVariant, MachHeader, MachOFatFile32, MachOFatFile64, MachOFile, Segment,
};
use object::{Endianness, Object, ObjectSegment};
use seam_plugin_api::abi::MANIFEST_LENGTH;

use super::{Contents, Refusal, is_entry, is_manifest};

type Header = MachHeader64<Endianness>;

/// C symbols carry one underscore more than their name.
const PREFIX: &str = "_";

const OUR_PROCESSOR: macho::CpuType =
    if cfg!(target_arch = "aarch64") { macho::CPU_TYPE_ARM64 } else { macho::CPU_TYPE_X86_64 };

pub(super) fn read(bytes: &[u8]) -> Result<Contents<'_>, Refusal> {
    let bytes = our_part(bytes)?;
    check_target(bytes)?;
    let header = Header::parse(bytes, 0).map_err(|_| cut(bytes, size_of::<Header>() as u64))?;
    check_complete(header, header.endian().map_err(malformed)?, bytes)?;
    let file = MachOFile::<Header>::parse(bytes).map_err(malformed)?;
    let mut contents = Contents::default();
    for library in file.import_libraries().map_err(malformed)? {
        contents.needs.push(String::from_utf8_lossy(library.map_err(malformed)?.name()).into_owned());
    }
    read_symbols(&file, &mut contents)?;
    Ok(contents)
}

/// The file itself, or the part of a universal binary that is for this machine.
fn our_part(bytes: &[u8]) -> Result<&[u8], Refusal> {
    match bytes {
        [0xca, 0xfe, 0xba, 0xbe, ..] => {
            part_of(MachOFatFile32::parse(bytes).map_err(|_| no_parts(bytes))?.arches(), bytes)
        }
        [0xca, 0xfe, 0xba, 0xbf, ..] => {
            part_of(MachOFatFile64::parse(bytes).map_err(|_| no_parts(bytes))?.arches(), bytes)
        }
        _ => Ok(bytes),
    }
}

/// The list of parts does not fit into the file. One page is less than any file with a part in it.
fn no_parts(bytes: &[u8]) -> Refusal {
    cut(bytes, 4096)
}

fn part_of<'data, F: FatArch>(parts: &[F], bytes: &'data [u8]) -> Result<&'data [u8], Refusal> {
    let Some(part) = parts.iter().find(|part| part.cputype() == OUR_PROCESSOR) else {
        let names: Vec<String> = parts.iter().map(|part| processor_name(part.cputype())).collect();
        return Err(Refusal::OtherArchitecture { found: names.join(" and ") });
    };
    let (offset, size) = part.file_range();
    part.data(bytes).map_err(|_| cut(bytes, offset.saturating_add(size)))
}

/// Processor and kind lie at the same place in files of 32 and 64 bits; every processor that macOS has today counts the
/// low byte first.
fn check_target(bytes: &[u8]) -> Result<(), Refusal> {
    let number = |at: usize| -> Result<u32, Refusal> {
        let four = bytes.get(at..at + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
        four.map(u32::from_le_bytes).ok_or_else(|| cut(bytes, size_of::<Header>() as u64))
    };
    if number(0)? != macho::MH_MAGIC_64 {
        return Err(Refusal::OtherArchitecture { found: "a processor of 32 bits or of big-endian order".to_owned() });
    }
    let (processor, kind) = (macho::CpuType(number(4)?), macho::FileType(number(12)?));
    if processor != OUR_PROCESSOR {
        return Err(Refusal::OtherArchitecture { found: processor_name(processor) });
    }
    match kind {
        macho::MH_DYLIB | macho::MH_BUNDLE => Ok(()),
        macho::MH_EXECUTE => Err(Refusal::NotALibrary("a program")),
        macho::MH_OBJECT => Err(Refusal::NotALibrary("an object file")),
        macho::MH_CORE => Err(Refusal::NotALibrary("a core dump")),
        _ => Err(Refusal::NotALibrary("a Mach-O file of another kind")),
    }
}

fn processor_name(processor: macho::CpuType) -> String {
    match processor {
        macho::CPU_TYPE_ARM64 => "aarch64".to_owned(),
        macho::CPU_TYPE_X86_64 => "x86_64".to_owned(),
        other => format!("processor number {}", other.0),
    }
}

/// Whether everything that is mapped is in the file. The linker puts symbols and signature into the last segment, so
/// that every cut is found.
fn check_complete(header: &Header, endian: Endianness, bytes: &[u8]) -> Result<(), Refusal> {
    let commands_end = size_of::<Header>() as u64 + u64::from(header.sizeofcmds(endian));
    if commands_end > bytes.len() as u64 {
        return Err(cut(bytes, commands_end));
    }
    let mut expected = commands_end;
    let mut commands = header.load_commands(endian, bytes, 0).map_err(malformed)?;
    while let Some(command) = commands.next().map_err(malformed)? {
        if let LoadCommandVariant::Segment64(segment, _) = command.variant().map_err(malformed)? {
            let (offset, size) = segment.file_range(endian);
            expected = expected.max(offset.saturating_add(size));
        }
    }
    if expected > bytes.len() as u64 { Err(cut(bytes, expected)) } else { Ok(()) }
}

fn read_symbols<'data>(file: &MachOFile<'data, Header>, contents: &mut Contents<'data>) -> Result<(), Refusal> {
    for export in file.exports().map_err(malformed)? {
        let export = export.map_err(malformed)?;
        let object::read::NameOrOrdinal::Name(name) = export.name() else { continue };
        let object::read::ExportTarget::Address { address } = export.target() else { continue };
        contents.has_entry |= is_entry(name, PREFIX);
        if is_manifest(name, PREFIX) {
            contents.manifest =
                file.segments().find_map(|part| part.data_range(address, MANIFEST_LENGTH as u64).ok().flatten());
        }
    }
    Ok(())
}

fn cut(bytes: &[u8], expected: u64) -> Refusal {
    Refusal::Truncated { size: bytes.len() as u64, expected }
}

fn malformed(error: object::read::Error) -> Refusal {
    Refusal::Malformed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use seam_plugin_api::abi::Manifest;

    /// Numbers of four bytes, the low one first.
    fn words(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// A name in a field of a fixed size.
    fn field(name: &str, size: usize) -> Vec<u8> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(size, 0);
        bytes
    }

    /// The smallest library with two exported symbols and one needed library: header, a segment with a section, the
    /// needed library, the symbol table; then a manifest, the symbols and their names.
    fn library(processor: macho::CpuType, kind: macho::FileType, symbols: [&str; 2]) -> Vec<u8> {
        const COMMANDS: u32 = 152 + 48 + 24;
        const MANIFEST: u32 = 32 + COMMANDS;
        const SYMBOLS: u32 = MANIFEST + MANIFEST_LENGTH as u32;
        let names = format!("\0{}\0{}\0", symbols[0], symbols[1]).into_bytes();
        let length = SYMBOLS + 32 + names.len() as u32;
        [
            words(&[macho::MH_MAGIC_64, processor.0, 0, kind.0, 3, COMMANDS, 0, 0]),
            words(&[0x19, 152]),
            field("__TEXT", 16),
            words(&[0, 0, length, 0, 0, 0, length, 0, 5, 5, 1, 0]),
            field("__const", 16),
            field("__TEXT", 16),
            words(&[MANIFEST, 0, MANIFEST_LENGTH as u32, 0, MANIFEST, 0, 0, 0, 0, 0, 0, 0]),
            words(&[0xc, 48, 24, 0, 0, 0]),
            field("libSystem.B.dylib", 24),
            words(&[0x2, 24, SYMBOLS, 2, SYMBOLS + 32, names.len() as u32]),
            field("abi=1\nname=mac\n", MANIFEST_LENGTH),
            words(&[1, 0x010f, MANIFEST, 0, 2 + symbols[0].len() as u32, 0x010f, MANIFEST, 0]),
            names,
        ]
        .concat()
    }

    const PLUGIN: [&str; 2] = ["__1as_0lib_1header_0root_bmodule_bloader", "_seam_plugin_manifest"];

    fn universal(processor: macho::CpuType) -> Vec<u8> {
        let library = library(processor, macho::MH_DYLIB, PLUGIN);
        let numbers = [0xcafe_babe, 1, processor.0, 0, 4096, library.len() as u32, 12];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number: &u32| number.to_be_bytes()).collect();
        bytes.resize(4096, 0);
        [bytes, library].concat()
    }

    #[test]
    fn a_plugins_entry_manifest_and_needs_are_found() {
        for bytes in [library(OUR_PROCESSOR, macho::MH_DYLIB, PLUGIN), universal(OUR_PROCESSOR)] {
            let contents = read(&bytes).unwrap();
            assert!(contents.has_entry);
            assert_eq!(Manifest::read(contents.manifest.unwrap()).unwrap().name, "mac");
            assert_eq!(contents.needs, ["libSystem.B.dylib"]);
        }
        let other = library(OUR_PROCESSOR, macho::MH_BUNDLE, ["_main", "_other"]);
        let contents = read(&other).unwrap();
        assert!(!contents.has_entry && contents.manifest.is_none());
    }

    #[test]
    fn every_truncation_is_refused() {
        for whole in [library(OUR_PROCESSOR, macho::MH_DYLIB, PLUGIN), universal(OUR_PROCESSOR)] {
            for length in 4..whole.len() {
                let refusal = read(&whole[..length]).map(|_| ()).unwrap_err();
                let is_cut = matches!(refusal, Refusal::Truncated { size, expected } if expected > size);
                assert!(is_cut, "{length}: {refusal}");
            }
        }
    }

    #[test]
    fn other_processors_and_kinds_are_named() {
        let other = if OUR_PROCESSOR == macho::CPU_TYPE_ARM64 { macho::CPU_TYPE_X86_64 } else { macho::CPU_TYPE_ARM64 };
        let name = processor_name(other);
        for bytes in [library(other, macho::MH_DYLIB, PLUGIN), universal(other)] {
            assert_eq!(read(&bytes).map(|_| ()), Err(Refusal::OtherArchitecture { found: name.clone() }));
        }
        for (kind, named) in [(macho::MH_EXECUTE, "a program"), (macho::MH_OBJECT, "an object file")] {
            let bytes = library(OUR_PROCESSOR, kind, PLUGIN);
            assert_eq!(read(&bytes).map(|_| ()), Err(Refusal::NotALibrary(named)));
        }
    }
}
