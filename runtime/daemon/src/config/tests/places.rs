//! Where faults stand that show only after the text was read.

use std::path::Path;

use super::super::{Source, parse};
use super::{REST, load};

const PLUGINS: &str = r#"[[plugin]]
path = "a.so"

[[plugin]]
path = "b.so"

[plugin.config]
kinds = ["email", "card"]
"a.b" = { c = 1 }
a = 2

[[plugin.config.patterns]]
name = "x"

[plugin.config.deep.er]
est = "é"
"#;

fn source() -> Source {
    parse(Path::new("seamd.toml"), format!("{PLUGINS}{REST}").as_bytes()).unwrap().source
}

#[test]
fn a_key_path_leads_to_its_value_or_the_nearest_that_holds_it() {
    let text = format!("{PLUGINS}{REST}");
    let source = source();
    for (path, wanted) in [
        ("kinds[1]", "\"card\""),
        ("kinds.0", "\"email\""),
        ("kinds[7]", "[\"email\", \"card\"]"),
        ("kinds[x", "[\"email\", \"card\"]"),
        ("kinds[0].deeper", "\"email\""),
        ("a.b.c", "1"),
        ("a", "2"),
        ("patterns[0].name", "\"x\""),
        ("patterns.0.name", "\"x\""),
        ("patterns[0].missing", "[[plugin.config.patterns]]"),
        ("deep.er.est", "\"é\""),
        ("deep.er", "[plugin.config.deep.er]"),
        ("missing", "[plugin.config]"),
        ("", "[plugin.config]"),
        (".", "[plugin.config]"),
    ] {
        let separator = if path.starts_with('.') { "" } else { "." };
        let span = source.span_of(&format!("plugin[1].config{separator}{path}"));
        assert_eq!(&text[span], wanted, "{path}");
    }
}

#[test]
fn without_a_table_of_its_own_the_plugins_header_is_the_place() {
    assert_eq!(source().span_of("plugin[0].config.kinds[1]"), 0..10);
}

#[test]
fn what_plugins_say_is_shown_at_its_line() {
    let mut report = source().report();
    report.add_plugin_fault(1, "kinds[1]", "unknown kind \"card\", expected \"email\"");
    report.add_plugin_fault(1, "deep.er.est", "must be longer");
    report.add_plugin_fault(1, "", "missing key \"limit\"");
    report.add_plugin_fault(0, "limit", "must be given");
    report.add_plugin_load_fault(0, "no such file");
    report.add_fault("provider[0].api_key.env", "the environment variable is not set");
    report.add_fault("provider[9].name", "leads nowhere");
    insta::assert_snapshot!(report);
    insta::assert_json_snapshot!("what_plugins_say_json", report);
}

#[test]
fn one_fault_told_twice_is_one_fault() {
    let mut report = source().report();
    report.add_plugin_load_fault(0, "no such file");
    report.add_plugin_load_fault(0, "no such file");
    report.add_plugin_load_fault(0, "is a directory");
    assert_eq!(report.faults().len(), 2);
}

#[test]
fn columns_count_characters() {
    let report = super::faults(&format!("[server]\n\"éé🞄\".x = 1\nlisten = \"é\" # é\nöl = 1\n{REST}"));
    let places: Vec<_> = report.faults().iter().map(|fault| (fault.line, fault.column)).collect();
    assert_eq!(places, [(2, 1), (3, 10), (4, 1)]);
    let source = load(&format!("# é🞄 \n{REST}")).unwrap().source;
    assert_eq!(
        [0, 2, 3, 4, 5, 8, 9, 10].map(|offset| source.position(offset)),
        [(1, 1), (1, 3), (1, 3), (1, 4), (1, 4), (1, 5), (1, 6), (2, 1)]
    );
}
