//! Reading an ELF library.

use object::elf::{self, FileHeader64, Machine};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Object, ObjectSegment};
use seam_plugin_api::abi::MANIFEST_LENGTH;

use super::{Contents, GlibcVersion, Refusal, is_entry, is_manifest};

#[cfg(target_pointer_width = "64")]
type Header = FileHeader64<Endianness>;
#[cfg(target_pointer_width = "32")]
type Header = object::elf::FileHeader32<Endianness>;

/// Where `e_type` and `e_machine` lie, for every class.
const TYPE_AT: usize = 16;
const MACHINE_AT: usize = 18;

pub(super) fn read(bytes: &[u8]) -> Result<Contents<'_>, Refusal> {
    check_target(bytes)?;
    let header = Header::parse(bytes).map_err(|_| cut(bytes, size_of::<Header>() as u64))?;
    let endian = header.endian().map_err(malformed)?;
    check_complete(header, endian, bytes)?;
    let file = ElfFile::<Header>::parse(bytes).map_err(malformed)?;
    let mut contents = Contents { glibc: newest_glibc(&file)?, ..Contents::default() };
    read_dynamic(&file, &mut contents)?;
    read_symbols(&file, &mut contents)?;
    Ok(contents)
}

/// Whether this machine could run it at all. Only the identification and two numbers are read, which lie at the same
/// place in every ELF file.
fn check_target(bytes: &[u8]) -> Result<(), Refusal> {
    let (Some(&class), Some(&data), Some(&system)) = (bytes.get(4), bytes.get(5), bytes.get(7)) else {
        return Err(cut(bytes, size_of::<Header>() as u64));
    };
    let number = |at: usize| -> Result<u16, Refusal> {
        let pair = bytes.get(at..at + 2).and_then(|pair| <[u8; 2]>::try_from(pair).ok());
        let pair = pair.ok_or_else(|| cut(bytes, size_of::<Header>() as u64))?;
        Ok(if data == 2 { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
    };
    let (kind, machine) = (number(TYPE_AT)?, number(MACHINE_AT)?);
    let found = target_name(machine, class, data);
    if found != target_name(OUR_MACHINE, OUR_CLASS, OUR_DATA) {
        return Err(Refusal::OtherArchitecture { found });
    }
    if let Some(found) = other_system(system) {
        return Err(Refusal::OtherSystem { found });
    }
    match kind {
        1 => Err(Refusal::NotALibrary("an object file")),
        2 => Err(Refusal::NotALibrary("a program")),
        3 => Ok(()),
        4 => Err(Refusal::NotALibrary("a core dump")),
        _ => Err(Refusal::NotALibrary("an ELF file of an unknown kind")),
    }
}

const OUR_CLASS: u8 = if cfg!(target_pointer_width = "64") { 2 } else { 1 };
const OUR_DATA: u8 = if cfg!(target_endian = "big") { 2 } else { 1 };
const OUR_MACHINE: u16 = our_machine().0;

const fn our_machine() -> Machine {
    if cfg!(target_arch = "x86_64") {
        elf::EM_X86_64
    } else if cfg!(target_arch = "aarch64") {
        elf::EM_AARCH64
    } else if cfg!(target_arch = "x86") {
        elf::EM_386
    } else if cfg!(target_arch = "arm") {
        elf::EM_ARM
    } else if cfg!(any(target_arch = "riscv64", target_arch = "riscv32")) {
        elf::EM_RISCV
    } else if cfg!(target_arch = "powerpc64") {
        elf::EM_PPC64
    } else if cfg!(target_arch = "s390x") {
        elf::EM_S390
    } else if cfg!(target_arch = "loongarch64") {
        elf::EM_LOONGARCH
    } else {
        elf::EM_NONE
    }
}

/// A target in words, the same for two files exactly if one process can hold both.
fn target_name(machine: u16, class: u8, data: u8) -> String {
    let bits = match class {
        1 => " with 32-bit pointers",
        2 => "",
        _ => " of an unknown class",
    };
    let order = if data == 2 { " big-endian" } else { "" };
    let name = match Machine(machine) {
        elf::EM_X86_64 => "x86_64",
        elf::EM_AARCH64 => "aarch64",
        elf::EM_386 => "x86",
        elf::EM_ARM => "arm",
        elf::EM_RISCV => "riscv",
        elf::EM_PPC64 => "powerpc64",
        elf::EM_S390 => "s390x",
        elf::EM_LOONGARCH => "loongarch64",
        elf::EM_MIPS => "mips",
        _ => return format!("machine number {machine}{bits}{order}"),
    };
    format!("{name}{bits}{order}")
}

/// The operating system of the identification, where it is none of those that Linux loads.
fn other_system(system: u8) -> Option<&'static str> {
    match elf::OsAbi(system) {
        elf::ELFOSABI_SYSV | elf::ELFOSABI_GNU => None,
        elf::ELFOSABI_FREEBSD => Some("FreeBSD"),
        elf::ELFOSABI_NETBSD => Some("NetBSD"),
        elf::ELFOSABI_OPENBSD => Some("OpenBSD"),
        elf::ELFOSABI_SOLARIS => Some("Solaris"),
        _ => Some("another operating system"),
    }
}

/// Whether everything that the headers speak of is in the file. What is mapped must be there or touching it ends the
/// process; linkers put the section headers last, so that with them every cut is found.
fn check_complete(header: &Header, endian: Endianness, bytes: &[u8]) -> Result<(), Refusal> {
    let table = |offset: u64, count: u64, size: u16| offset.saturating_add(count.saturating_mul(u64::from(size)));
    let sections_at: u64 = header.e_shoff(endian);
    let mut expected = table(header.e_phoff(endian), u64::from(header.e_phnum(endian)), header.e_phentsize(endian));
    expected = expected.max(table(sections_at, u64::from(header.e_shnum(endian)), header.e_shentsize(endian)));
    if expected > bytes.len() as u64 {
        return Err(cut(bytes, expected));
    }
    for segment in header.program_headers(endian, bytes).map_err(malformed)? {
        expected = expected.max(end(segment.file_range(endian)));
    }
    for section in header.section_headers(endian, bytes).map_err(malformed)? {
        expected = expected.max(section.file_range(endian).map_or(0, end));
    }
    if expected > bytes.len() as u64 {
        return Err(cut(bytes, expected));
    }
    if sections_at == 0 { Err(Refusal::NoSections) } else { Ok(()) }
}

fn end((offset, size): (u64, u64)) -> u64 {
    offset.saturating_add(size)
}

fn cut(bytes: &[u8], expected: u64) -> Refusal {
    Refusal::Truncated { size: bytes.len() as u64, expected }
}

fn malformed(error: object::read::Error) -> Refusal {
    Refusal::Malformed(error.to_string())
}

fn read_dynamic(file: &ElfFile<'_, Header>, contents: &mut Contents<'_>) -> Result<(), Refusal> {
    let table = file.elf_dynamic_table().map_err(malformed)?;
    for entry in table.iter() {
        match entry.tag {
            elf::DT_NEEDED => {
                let name = table.string(entry).map_err(malformed)?;
                contents.needs.push(String::from_utf8_lossy(name).into_owned());
            }
            elf::DT_FLAGS => contents.static_tls = entry.val & elf::DF_STATIC_TLS.0 != 0,
            elf::DT_FLAGS_1 if entry.val & elf::DF_1_PIE.0 != 0 => return Err(Refusal::NotALibrary("a program")),
            _ => {}
        }
    }
    Ok(())
}

fn read_symbols<'data>(file: &ElfFile<'data, Header>, contents: &mut Contents<'data>) -> Result<(), Refusal> {
    for export in file.exports().map_err(malformed)? {
        let export = export.map_err(malformed)?;
        let object::read::NameOrOrdinal::Name(name) = export.name() else { continue };
        let object::read::ExportTarget::Address { address } = export.target() else { continue };
        contents.has_entry |= is_entry(name, "");
        if is_manifest(name, "") {
            contents.manifest = bytes_at(file, address);
        }
    }
    Ok(())
}

fn bytes_at<'data>(file: &ElfFile<'data, Header>, address: u64) -> Option<&'data [u8]> {
    file.segments().find_map(|segment| segment.data_range(address, MANIFEST_LENGTH as u64).ok().flatten())
}

/// The newest `GLIBC_x.y` among the symbol versions that are needed, and the library that must have it.
fn newest_glibc(file: &ElfFile<'_, Header>) -> Result<Option<(GlibcVersion, String)>, Refusal> {
    let (sections, endian) = (file.elf_section_table(), file.endian());
    let Some((mut needs, link)) = sections.gnu_verneed(endian, file.data()).map_err(malformed)? else {
        return Ok(None);
    };
    let strings = sections.strings(endian, file.data(), link).map_err(malformed)?;
    let mut newest = None;
    while let Some((need, mut versions)) = needs.next().map_err(malformed)? {
        let library = String::from_utf8_lossy(need.file(endian, strings).map_err(malformed)?).into_owned();
        while let Some(version) = versions.next().map_err(malformed)? {
            let name = version.name(endian, strings).map_err(malformed)?;
            if let Some(version) = glibc_version(name) {
                newest = newest.max(Some((version, library.clone())));
            }
        }
    }
    Ok(newest)
}

/// `GLIBC_2.17` is 2.17 and `GLIBC_2.2.5` is 2.2; `GLIBC_PRIVATE` and the like are no versions.
fn glibc_version(name: &[u8]) -> Option<GlibcVersion> {
    let mut parts = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_numbers() {
        assert_eq!(glibc_version(b"GLIBC_2.39"), Some((2, 39)));
        assert_eq!(glibc_version(b"GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(glibc_version(b"GLIBC_PRIVATE"), None);
        assert_eq!(glibc_version(b"GLIBC_ABI_DT_RELR"), None);
        assert_eq!(glibc_version(b"GCC_3.0"), None);
        assert!(glibc_version(b"GLIBC_2.9") < glibc_version(b"GLIBC_2.10"));
    }

    #[test]
    fn targets_are_named_with_what_sets_them_apart() {
        assert_eq!(target_name(elf::EM_AARCH64.0, 2, 1), "aarch64");
        assert_eq!(target_name(elf::EM_X86_64.0, 1, 1), "x86_64 with 32-bit pointers");
        assert_eq!(target_name(elf::EM_PPC64.0, 2, 2), "powerpc64 big-endian");
        assert_eq!(target_name(4711, 2, 1), "machine number 4711");
    }
}
