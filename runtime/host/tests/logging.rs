//! What of plugins reaches the log. One test, alone in its program: whether a line is logged is decided once for all
//! threads, and other tests have no log.

mod fixture;

use std::sync::{Arc, Mutex};

use fixture::{Bench, first, invocation, spec};
use seam_plugin_api::CallClass;

/// A writer of log lines that a test can read.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().map_err(|_| std::io::Error::other("a writer panicked"))?.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_plugins_say_and_their_faults_are_logged_with_their_name_and_observer() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .without_time()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let bench = Bench::new();
        let path = bench.put("plugin.so", first());
        for config in ["{}", r#"{"panics_in":"factory"}"#, r#"{"panics_in":"plugin_drop"}"#] {
            let generation = bench.loader.load(&[spec(&path, config)]).unwrap().generation;
            drop(generation.rungs(&invocation(CallClass::Converse)).unwrap());
        }
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    insta::with_settings!({filters => vec![(r"[^ ]*behaviour\.rs:\d+:\d+:?", "PLACE")]}, {
        insta::assert_snapshot!(text);
    });
}
