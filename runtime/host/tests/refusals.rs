//! What a loader says of files that cannot be plugins here: every line that an operator reads.
#![expect(clippy::unwrap_used, reason = "a function beside the tests is a part of those that call it")]

mod fixture;

use fixture::{Bench, first, replaced, spec, variant, with_byte};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable};
use seam_host::{OnLoadError, PluginSpec, Reason, Refusal, Rejection, inspect};

/// The rejections of one plugin, its path left out.
fn rejected(bench: &Bench, spec: &PluginSpec) -> String {
    let rejections = bench.loader.load(std::slice::from_ref(spec)).unwrap_err();
    lines(bench, &rejections)
}

fn lines(bench: &Bench, rejections: &[Rejection]) -> String {
    let lines: Vec<String> = rejections.iter().map(ToString::to_string).collect();
    assert!(lines.iter().all(|line| !line.contains('\n')), "one line each: {lines:?}");
    let copies = std::fs::read_dir(bench.path("copies")).unwrap().next().unwrap().unwrap().path();
    let text = lines.join("\n").replace(&*copies.to_string_lossy(), "COPIES");
    text.replace(&*bench.folder.path().to_string_lossy(), "FOLDER")
}

fn file_rejected(name: &str, bytes: &[u8]) -> String {
    let bench = Bench::new();
    let path = bench.put(name, bytes);
    rejected(&bench, &spec(&path, "{}"))
}

#[test]
fn what_is_no_library_is_named_for_what_it_is() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("directory.so")).unwrap();
    let refused = [
        rejected(&bench, &spec(&bench.path("missing.so"), "{}")),
        rejected(&bench, &spec(&bench.path("directory.so"), "{}")),
        rejected(&bench, &spec("/dev/null".as_ref(), "{}")),
        file_rejected("empty.so", b""),
        file_rejected("short.so", b"\x7fELF"),
        file_rejected("text.so", b"this is no library\n"),
        file_rejected("archive.so", b"!<arch>\ndebian-binary   "),
        file_rejected("mach.so", b"\xcf\xfa\xed\xfe\x0c\0\0\x01\0\0\0\0\x06\0\0\0"),
    ];
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn what_is_for_another_machine_names_both() {
    let refused = [
        ("aarch64.so", with_byte(first(), 18, 183)),
        ("x32.so", with_byte(first(), 4, 1)),
        ("unknown.so", with_byte(first(), 19, 0x7f)),
        ("freebsd.so", with_byte(first(), 7, 9)),
        ("big.so", replaced(&first()[..20], &first()[..20], b"\x7fELF\x02\x02\x01\0\0\0\0\0\0\0\0\0\0\x03\0\x15")),
    ]
    .map(|(name, bytes)| file_rejected(name, &bytes));
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
#[cfg(target_os = "linux")]
fn other_kinds_of_elf_files_are_named() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let refused = [
        ("object.so", with_byte(first(), 16, 1)),
        ("fixed-program.so", with_byte(first(), 16, 2)),
        ("core.so", with_byte(first(), 16, 4)),
        ("program.so", program),
    ]
    .map(|(name, bytes)| file_rejected(name, &bytes));
    insta::assert_snapshot!(refused.join("\n"));
}

/// The C library that this test runs with is a library for this machine, and no plugin.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn a_library_without_a_plugins_entry_is_not_mapped() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let library =
        maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).find(|path| path.contains("/libc."));
    let refused = file_rejected("libc.so", &std::fs::read(library.unwrap()).unwrap());
    insta::assert_snapshot!(refused, @"plugin libc.so (FOLDER/libc.so): it is a library but no plugin: nothing in it was exported with `export_plugin!`");
}

#[test]
fn without_a_readable_manifest_or_with_another_abi_nothing_is_mapped() {
    let refused = [
        ("no-manifest.so", replaced(first(), b"\0seam_plugin_manifest\0", b"\0seam_plugin_manifesT\0")),
        ("bad-manifest.so", replaced(first(), b"abi=1\napi=", b"abi=x\napi=")),
        ("abi-2.so", replaced(first(), b"abi=1\napi=1.0.0\n", b"abi=2\napi=2.3.4\n")),
    ]
    .map(|(name, bytes)| file_rejected(name, &bytes));
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn a_library_of_a_newer_system_names_the_version_it_needs() {
    let bench = Bench::new();
    let glibc = inspect(&bench.put("plugin.so", first())).unwrap().glibc.unwrap();
    let newer = format!("2.{}", "9".repeat(glibc.len() - 2));
    let bytes = replaced(first(), format!("GLIBC_{glibc}\0").as_bytes(), format!("GLIBC_{newer}\0").as_bytes());
    let Err(refusal @ Refusal::NewerGlibc { .. }) = inspect(&bench.put("newer.so", &bytes)) else { panic!("refused") };
    let line = refusal.to_string();
    assert!(line.starts_with(&format!("it needs GLIBC_{newer} of lib")), "{line}");
}

#[test]
#[cfg(target_os = "linux")]
fn static_thread_local_storage_is_a_warning() {
    let file = ElfFile64::<Endianness>::parse(first()).unwrap();
    let dynamic = file.section_by_name(".dynamic").unwrap();
    let (offset, size) = dynamic.file_range().unwrap();
    let entries = offset as usize..(offset + size) as usize;
    let flags = entries.step_by(16).find(|at| first()[*at..*at + 8] == 30_u64.to_le_bytes()).expect("DT_FLAGS");
    let bytes = with_byte(first(), flags + 8, first()[flags + 8] | 0x10);
    let bench = Bench::new();
    let inspection = inspect(&bench.put("static-tls.so", &bytes)).unwrap();
    insta::assert_snapshot!(inspection.warnings.join("\n"), @"it uses static thread-local storage, of which a process has little: after some reloads of changed files it will not load; GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 gives more");
}

#[test]
fn every_truncation_is_refused_before_it_is_mapped() {
    let bench = Bench::new();
    let whole = first().len() as u64;
    let path = bench.put("cut.so", first());
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut lengths: Vec<u64> = (0..600).chain((0..40).map(|part| whole * part / 40)).collect();
    lengths.extend((0..whole.min(65_536)).step_by(509).map(|back| whole - 1 - back));
    lengths.extend((1..70).map(|back| whole - back));
    let sections = ElfFile64::<Endianness>::parse(first()).unwrap();
    let boundaries = sections.sections().filter_map(|section| section.file_range()).map(|(at, size)| at + size);
    lengths.extend(boundaries.flat_map(|end| [end - 1, end, end + 1]));
    lengths.retain(|length| *length < whole);
    lengths.sort_unstable_by(|one, other| other.cmp(one));
    for length in lengths {
        file.set_len(length).unwrap();
        let refusal = inspect(&path).expect_err("a cut file is refused");
        let expected = match length {
            0 => matches!(refusal, Refusal::Empty),
            1..4 => matches!(refusal, Refusal::NotALibrary(_)),
            _ => matches!(refusal, Refusal::Truncated { size, expected } if size == length && expected > length),
        };
        assert!(expected, "{length} of {whole} bytes: {refusal}");
    }
}

#[test]
fn a_cut_library_says_so() {
    let bench = Bench::new();
    let path = bench.put("cut.so", &first()[..4096]);
    let Err(Refusal::Truncated { size, expected }) = inspect(&path) else { panic!("refused") };
    assert_eq!(size, 4096);
    let line = rejected(&bench, &spec(&path, "{}")).replace(&expected.to_string(), "MORE");
    insta::assert_snapshot!(line);
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn what_the_systems_loader_misses_is_named_with_the_plugin() {
    let file = ElfFile64::<Endianness>::parse(first()).unwrap();
    let wanted = file
        .dynamic_symbol_table()
        .unwrap()
        .symbols()
        .find(|symbol| symbol.is_undefined() && symbol.name() == Ok("strlen"));
    assert!(wanted.is_some(), "the fixture uses a function that can be renamed");
    let refused = [
        ("no-library.so", replaced(first(), b"\0libgcc_s.so.1\0", b"\0libgcc_s.so.9\0")),
        ("no-symbol.so", replaced(first(), b"\0strlen\0", b"\0strlex\0")),
    ]
    .map(|(name, bytes)| file_rejected(name, &bytes));
    insta::assert_snapshot!(refused.join("\n"));
}

/// Another name of one field of one type is another layout.
#[test]
fn another_layout_is_refused_with_the_type_that_differs() {
    let bytes = replaced(first(), b"on_end_invocation;", b"on_end_inwocation;");
    let line = file_rejected("layout.so", &bytes);
    let begin = "plugin first (FOLDER/layout.so): its layout of the ABI differs from this seamd's: ";
    let said = line.strip_prefix(begin).unwrap_or_else(|| panic!("{line}"));
    assert!(said.contains("ObserverTable") && said.contains("on_end_inwocation") && said.len() < 500, "{said}");
}

#[test]
fn what_did_not_load_leaves_no_copy_and_may_be_tried_again() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", &replaced(first(), b"on_end_invocation;", b"on_end_invocatiOn;"));
    let refused = rejected(&bench, &spec(&path, "{}"));
    assert_eq!(rejected(&bench, &spec(&path, "{}")), refused);
    let copies = std::fs::read_dir(bench.path("copies")).unwrap().next().unwrap().unwrap().path();
    let left = std::fs::read_dir(copies).unwrap().filter(|file| file.as_ref().unwrap().file_name() != "lock");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_folder_of_copies_that_is_gone_is_named() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", &variant(first(), "no folder"));
    let copies = std::fs::read_dir(bench.path("copies")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_dir_all(&copies).unwrap();
    let rejections = bench.loader.load(&[spec(&path, "{}")]).unwrap_err();
    let Reason::Copy { folder, .. } = &rejections[0].reason else { panic!("{}", rejections[0]) };
    assert_eq!(*folder, copies);
}

#[test]
fn every_fault_of_every_plugin_is_told_at_once() {
    let bench = Bench::new();
    let plugin = bench.put("plugin.so", first());
    let named = |name: &str, config: &str| PluginSpec { name: Some(name.to_owned()), ..spec(&plugin, config) };
    let specs = [
        spec(&bench.path("missing.so"), "{}"),
        spec(&plugin, r#"{"refuse":["kinds[2]","limit",""]}"#),
        named("first", r#"{"sai":"x","observers":7}"#),
        named("Not a name", "{}"),
        named("ids", r#"{"observers":["a","B","a","c/d"]}"#),
        named("panics", r#"{"panics_in":"configure"}"#),
        PluginSpec { on_load_error: OnLoadError::Skip, ..named("optional", r#"{"refuse":["x"]}"#) },
        named("good", "{}"),
    ];
    let rejections = bench.loader.load(&specs).unwrap_err();
    insta::assert_snapshot!(lines(&bench, &rejections));
}

#[test]
fn a_refused_table_keeps_its_faults_apart() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", first());
    let rejections = bench.loader.load(&[spec(&path, r#"{"refuse":["a","b"]}"#)]).unwrap_err();
    let Reason::Config(faults) = &rejections[0].reason else { panic!("{}", rejections[0]) };
    let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["a", "b"]);
}
