//! What a plugin says of itself in its file, to be read before anything of it is loaded.

/// The symbol under which a library holds its manifest: [`MANIFEST_LENGTH`] bytes, `key=value` lines, padded with zeros.
pub const MANIFEST_SYMBOL: &str = "seam_plugin_manifest";

/// The manifest's size in bytes, fixed so that a reader needs nothing but the symbol's address.
pub const MANIFEST_LENGTH: usize = 1024;

/// The compiler that this crate, and so the plugin with it, was built with.
pub const BUILT_WITH: &str = env!("SEAM_BUILT_WITH");

/// The target that this crate was built for.
pub const BUILT_FOR: &str = env!("SEAM_BUILT_FOR");

/// A plugin's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The ABI that the plugin speaks.
    pub abi: u32,
    /// The version of this crate that it was built with.
    pub api: String,
    /// The plugin's own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The compiler that it was built with.
    pub built_with: String,
    /// The target that it was built for.
    pub built_for: String,
}

impl Manifest {
    /// Reads a manifest from the bytes at its symbol. `None`: they are not a manifest. Unknown keys are passed over, so
    /// that a later manifest can say more.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut manifest = Self::default();
        for line in text.lines() {
            let (key, value) = line.split_once('=')?;
            match key {
                "abi" => manifest.abi = value.parse().ok()?,
                "api" => value.clone_into(&mut manifest.api),
                "name" => value.clone_into(&mut manifest.name),
                "version" => value.clone_into(&mut manifest.version),
                "built_with" => value.clone_into(&mut manifest.built_with),
                "built_for" => value.clone_into(&mut manifest.built_for),
                _ => {}
            }
        }
        (manifest.abi != 0).then_some(manifest)
    }
}

/// The manifest of a plugin, made while it is compiled. A name or version that does not fit is cut.
#[must_use]
pub const fn manifest_bytes(name: &str, version: &str) -> [u8; MANIFEST_LENGTH] {
    let parts = [
        "abi=1\napi=",
        super::API_VERSION,
        "\nname=",
        name,
        "\nversion=",
        version,
        "\nbuilt_with=",
        BUILT_WITH,
        "\nbuilt_for=",
        BUILT_FOR,
        "\n",
    ];
    let mut bytes = [0; MANIFEST_LENGTH];
    let (mut part, mut end) = (0, 0);
    while part < parts.len() {
        let text = parts[part].as_bytes();
        let mut at = 0;
        while at < text.len() && end < MANIFEST_LENGTH - 1 {
            bytes[end] = text[at];
            at += 1;
            end += 1;
        }
        part += 1;
    }
    bytes
}

const _: () = assert!(super::ABI_VERSION == 1, "the manifest's first line names ABI 1");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let manifest = Manifest::read(&manifest_bytes("redaction", "2.1.0")).unwrap();
        assert_eq!((manifest.abi, manifest.name.as_str(), manifest.version.as_str()), (1, "redaction", "2.1.0"));
        assert_eq!(manifest.api, super::super::API_VERSION);
        assert_eq!(manifest.built_with, BUILT_WITH);
    }

    #[test]
    fn bytes_that_are_no_manifest_are_none() {
        assert_eq!(Manifest::read(b"no end"), None);
        assert_eq!(Manifest::read(b"hello\0"), None);
        assert_eq!(Manifest::read(b"\0"), None);
        assert_eq!(Manifest::read(&[0xff, 0xfe, 0]), None);
    }

    #[test]
    fn an_endless_name_is_cut_and_still_ends() {
        let bytes = manifest_bytes(&"x".repeat(4096)[..2048], "1");
        assert_eq!(bytes[MANIFEST_LENGTH - 1], 0);
    }
}
