//! What a loader makes of good plugins: each answers for itself, one mapping per digest, private copies.

mod fixture;

use std::sync::atomic::{AtomicBool, Ordering};

use fixture::{Bench, first, invocation, marked, marked_by_all, second, spec, variant};
use seam_host::{MappedMemory, OnLoadError, PluginSpec};
use seam_ladder::{OnFault, Policy};
use seam_plugin_api::CallClass;

#[test]
fn two_libraries_in_one_list_answer_each_for_itself() {
    let bench = Bench::new();
    let (one, two) = (bench.put("one.so", first()), bench.put("two.so", second()));
    let specs = [spec(&one, r#"{"say":"a"}"#), spec(&two, r#"{"say":"b"}"#)];
    assert_eq!(marked_by_all(&bench.loader, &specs, "x"), ["first:a:x", "second:b:x"]);
    let turned = [specs[1].clone(), specs[0].clone()];
    assert_eq!(marked_by_all(&bench.loader, &turned, "x"), ["second:b:x", "first:a:x"]);
}

#[test]
fn one_library_twice_under_two_names_is_two_plugins() {
    let bench = Bench::new();
    let path = bench.put("one.so", first());
    let named = |name: &str, config: &str| PluginSpec { name: Some(name.to_owned()), ..spec(&path, config) };
    let specs = [named("a", r#"{"say":"a"}"#), named("b", r#"{"say":"b"}"#)];
    assert_eq!(marked_by_all(&bench.loader, &specs, "x"), ["first:a:x", "first:b:x"]);
}

#[test]
fn the_same_bytes_with_another_table_are_configured_anew_and_mapped_once() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", &variant(first(), "configured anew"));
    let before = bench.loader.load(&[spec(&path, r#"{"say":"old"}"#)]).unwrap().generation;
    let after = bench.loader.load(&[spec(&path, r#"{"say":"new"}"#)]).unwrap().generation;
    assert!(!before.plugins()[0].library_reused() && after.plugins()[0].library_reused());
    assert_eq!((before.number(), after.number()), (1, 2));
    let say = |generation: &std::sync::Arc<seam_host::Generation>| {
        marked(&mut generation.rungs(&invocation(CallClass::Converse)).unwrap()[0], "x")
    };
    assert_eq!((say(&before), say(&after)), ("first:old:x".to_owned(), "first:new:x".to_owned()));
    // Under another path they are still the same bytes.
    let moved = bench.put("moved.so", &variant(first(), "configured anew"));
    let third = bench.loader.load(&[spec(&moved, "{}")]).unwrap().generation;
    assert!(third.plugins()[0].library_reused());
    assert_eq!(third.plugins()[0].path(), moved);
}

#[test]
fn a_file_that_is_overwritten_in_place_does_not_touch_what_runs() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", &variant(first(), "overwritten"));
    let old = bench.loader.load(&[spec(&path, "{}")]).unwrap().generation;
    let mut rungs = old.rungs(&invocation(CallClass::Converse)).unwrap();
    assert_eq!(marked(&mut rungs[0], "x"), "first::x");

    bench.put("plugin.so", &[0; 64]);
    assert_eq!(marked(&mut rungs[0], "x"), "first::x");
    bench.loader.load(&[spec(&path, "{}")]).unwrap_err();
    assert_eq!(marked(&mut old.rungs(&invocation(CallClass::Converse)).unwrap()[0], "x"), "first::x");

    bench.put("plugin.so", &variant(second(), "overwritten"));
    assert_eq!(marked_by_all(&bench.loader, &[spec(&path, "{}")], "x"), ["second::x"]);
    assert_eq!(marked(&mut rungs[0], "x"), "first::x");
}

#[test]
fn a_file_that_is_renamed_onto_the_path_is_seen_by_the_next_load() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", &variant(first(), "renamed"));
    let old = bench.loader.load(&[spec(&path, "{}")]).unwrap().generation;
    std::fs::rename(bench.put("new.so", &variant(second(), "renamed")), &path).unwrap();
    assert_eq!(marked_by_all(&bench.loader, &[spec(&path, "{}")], "x"), ["second::x"]);
    assert_eq!(marked(&mut old.rungs(&invocation(CallClass::Converse)).unwrap()[0], "x"), "first::x");
}

#[test]
fn what_was_mapped_runs_on_when_its_loader_and_files_are_gone() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", &variant(first(), "outlives"));
    let generation = bench.loader.load(&[spec(&path, "{}")]).unwrap().generation;
    drop(bench);
    assert_eq!(marked(&mut generation.rungs(&invocation(CallClass::Converse)).unwrap()[0], "x"), "first::x");
    // Another loader of the process uses the same mapping.
    let bench = Bench::new();
    let path = bench.put("plugin.so", &variant(first(), "outlives"));
    assert!(bench.loader.load(&[spec(&path, "{}")]).unwrap().generation.plugins()[0].library_reused());
}

#[test]
fn a_plugin_says_what_it_is() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", first());
    let policy = Policy { on_fault: OnFault::Stop, ..Policy::default() };
    let spec = PluginSpec { name: Some("mine".to_owned()), policy, ..spec(&path, "{}") };
    let generation = bench.loader.load(&[spec]).unwrap().generation;
    let plugin = &generation.plugins()[0];
    assert_eq!((plugin.name(), plugin.description().name.as_str()), ("mine", "first"));
    assert_eq!(plugin.description().version, env!("CARGO_PKG_VERSION"));
    assert_eq!(plugin.sha256(), seam_host::inspect(&path).unwrap().sha256);
    assert_eq!((plugin.policy(), plugin.warnings().len()), (policy, 0));
    let age = plugin.since().elapsed().unwrap();
    assert!(age.as_secs() < 60, "configured {age:?} ago");
}

#[test]
fn a_file_is_described_without_being_configured() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", &variant(first(), "described"));
    let (inspection, description) = bench.loader.describe(&path).unwrap();
    assert_eq!((inspection.name.as_str(), description.name.as_str()), ("first", "first"));
    assert!(description.config_schema.starts_with('{'), "{}", description.config_schema);
    assert!(matches!(bench.loader.describe(&bench.put("none.so", b"text")), Err(seam_host::Reason::File(_))));
}

#[test]
fn an_operator_narrows_and_never_widens() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", first());
    let config = r#"{"observers":["any","synthesize.only","utility.only"]}"#;
    let narrowed =
        PluginSpec { call_classes: Some(vec![CallClass::Synthesize, CallClass::Reasoning]), ..spec(&path, config) };
    let never = PluginSpec {
        name: Some("never".to_owned()),
        call_classes: Some(vec![CallClass::Converse]),
        ..spec(&path, r#"{"observers":["utility.only"]}"#)
    };
    let generation = bench.loader.load(&[narrowed, never]).unwrap().generation;
    let made = |class| {
        let rungs = generation.rungs(&invocation(class)).unwrap();
        rungs.iter().map(|rung| rung.observer_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(made(CallClass::Synthesize), ["any", "synthesize.only"]);
    assert_eq!(made(CallClass::Reasoning), ["any"]);
    assert_eq!(made(CallClass::Utility), Vec::<String>::new());
    assert_eq!(made(CallClass::Converse), Vec::<String>::new());
    assert_eq!(generation.plugins()[0].warnings().len(), 0);
    assert_eq!(generation.plugins()[1].warnings(), ["it makes no observer for any call class"]);
}

#[test]
fn a_plugin_that_may_be_missing_is_skipped_and_named() {
    let bench = Bench::new();
    let good = bench.put("good.so", first());
    let optional = |name: &str| PluginSpec { on_load_error: OnLoadError::Skip, ..spec(&bench.path(name), "{}") };
    let loaded = bench.loader.load(&[optional("none.so"), spec(&good, "{}")]).unwrap();
    assert_eq!(loaded.generation.plugins().len(), 1);
    assert_eq!((loaded.skipped.len(), loaded.skipped[0].index), (1, 0));
    // One that must not be missing takes the others with it, and all are named.
    let rejected = bench.loader.load(&[optional("none.so"), spec(&bench.path("neither.so"), "{}")]).unwrap_err();
    assert_eq!(rejected.len(), 2);
}

#[test]
fn no_plugin_at_all_is_a_generation() {
    let bench = Bench::new();
    let generation = bench.loader.load(&[]).unwrap().generation;
    assert_eq!(generation.rungs(&invocation(CallClass::Converse)).unwrap().len(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_mapped_is_counted_and_measured() {
    let bench = Bench::new();
    let bytes = variant(first(), "measured");
    let path = bench.put("plugin.so", &bytes);
    bench.loader.load(&[spec(&path, "{}")]).unwrap();
    let memory = MappedMemory::now();
    let mapped = memory.bytes.unwrap();
    assert!(memory.libraries >= 1);
    assert!(mapped.resident > 0 && mapped.resident <= mapped.mapped, "{mapped:?}");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(maps.contains(&seam_host::inspect(&path).unwrap().sha256));
    assert!(!maps.contains(&*path.to_string_lossy()), "the operator's own file is mapped");
}

#[test]
fn streams_run_while_other_threads_load() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", first());
    let generation = bench.loader.load(&[spec(&path, "{}")]).unwrap().generation;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let streams: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut chunks = 0_u64;
                    while chunks < 100 || !done.load(Ordering::Relaxed) {
                        let mut rungs = generation.rungs(&invocation(CallClass::Converse)).unwrap();
                        assert_eq!(marked(&mut rungs[0], "x"), "first::x");
                        chunks += 1;
                    }
                    chunks
                })
            })
            .collect();
        let loads: Vec<_> = (0..2)
            .map(|thread| {
                let (bench, library) = (&bench, if thread == 0 { first() } else { second() });
                scope.spawn(move || {
                    for at in 0..3 {
                        let path = bench.put(&format!("{thread}.so"), &variant(library, &format!("load {at}")));
                        assert_eq!(marked_by_all(&bench.loader, &[spec(&path, "{}")], "x").len(), 1);
                    }
                })
            })
            .collect();
        loads.into_iter().for_each(|load| load.join().unwrap());
        done.store(true, Ordering::Relaxed);
        assert!(streams.into_iter().all(|stream| stream.join().unwrap() >= 100));
    });
    assert_eq!(generation.invocations(), 0);
}
