//! Reading a Mach-O library, or this machine's part of a universal one.

use object::macho::{self, MachHeader64};
use object::read::macho::{FatArch, LoadCommandVariant, MachHeader, MachOFatFile32, MachOFatFile64, MachOFile, Segment};
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
        [0xca, 0xfe, 0xba, 0xbe, ..] => part_of(MachOFatFile32::parse(bytes).map_err(malformed)?.arches(), bytes),
        [0xca, 0xfe, 0xba, 0xbf, ..] => part_of(MachOFatFile64::parse(bytes).map_err(malformed)?.arches(), bytes),
        _ => Ok(bytes),
    }
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
