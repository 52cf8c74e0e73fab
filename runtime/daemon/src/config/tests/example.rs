//! The annotated example in the repository's root: it names every key, and every line of it is true.

use std::path::Path;

use toml::de::DeTable;

use super::super::syntax::Syntax;
use super::super::table::Reader;
use super::super::{Config, Source, parse};

const EXAMPLE: &str = include_str!("../../../../../seamd.example.toml");

/// The example with its commented-out keys and headers in force. Prose has a space after its `#`; they have none.
fn uncommented() -> String {
    let lines = EXAMPLE.lines().map(|line| match line.strip_prefix('#') {
        Some(code) if code.starts_with(|first: char| first.is_ascii_lowercase() || first == '[') => code,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What the example means in a folder that has the files it names.
fn config(text: &str) -> Config {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("streams")).unwrap();
    std::fs::write(folder.path().join("roots.pem"), "").unwrap();
    let loaded = parse(&folder.path().join("seamd.toml"), text.as_bytes());
    let mut config = loaded.unwrap_or_else(|report| panic!("{report}")).config;
    // The one thing in it that is not the example's own.
    config.file = "seamd.toml".into();
    config
}

#[test]
fn it_is_accepted_as_it_stands() {
    assert_eq!(config(EXAMPLE).providers.len(), 1);
}

#[test]
fn it_is_accepted_with_every_key_in_force() {
    let config = config(&uncommented());
    assert_eq!((config.providers.len(), config.plugins.len()), (2, 1));
}

#[test]
fn keys_that_are_commented_out_show_their_defaults() {
    // Those that stand for something which differs from machine to machine, or that have no default.
    let examples =
        ["workers", "allow_origins", "state_dir", "api_key", "ca_file", "headers", "name = \"redaction\"", "kinds"];
    let narrowed = "call_class = [";
    let shown = uncommented();
    let example = |line: &&str| !line.starts_with(narrowed) && !examples.iter().any(|key| line.starts_with(key));
    let given = config(&shown.lines().filter(example).collect::<Vec<_>>().join("\n"));
    let default = config(&format!(
        "{EXAMPLE}\n[[provider]]\nname = \"demo\"\nfamily = \"openai\"\nrecorded = \"streams\"\n\
         [[plugin]]\npath = \"plugins/libredaction.so\"\n"
    ));
    assert_eq!(given.server, default.server);
    assert_eq!((&given.log, &given.reload), (&default.log, &default.reload));
    assert_eq!(given.providers[0], default.providers[0]);
    assert_eq!(given.routes, default.routes);
    let plugin = |config: &Config| super::super::Plugin { path: "".into(), ..config.plugins[0].clone() };
    assert_eq!(plugin(&given), plugin(&default));
}

#[test]
fn it_names_every_key_that_is_known() {
    let text = uncommented();
    let source = Source::new(Path::new("seamd.toml"), &text);
    let (document, errors) = DeTable::parse_recoverable(source.text());
    let syntax = Syntax::new(&source, document.get_ref(), &errors);
    let reader = Reader::new(Path::new(""), &source, syntax);
    super::super::read(reader.root(document.get_ref()), Path::new("seamd.toml"));
    let known = reader.known_keys();
    assert!(known.len() > 40, "{known:?}");
    for path in known {
        let key = path.rsplit('.').next().unwrap();
        let named = [format!("{key} = "), format!("[{key}]"), format!("[plugin.{key}]")];
        assert!(named.iter().any(|named| text.contains(named)), "{path} is not in the example");
    }
}

#[test]
fn the_contracts_own_file_is_accepted_but_for_keys_that_are_not_there_yet() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec/seamd.toml");
    let Ok(text) = std::fs::read(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("streams")).unwrap();
    let report = parse(&folder.path().join("seamd.toml"), &text).unwrap_err();
    let keys: Vec<_> = report.faults().iter().filter_map(|fault| fault.key.as_deref()).collect();
    assert_eq!(keys, ["plugin[0].mode", "plugin[0].isolation", "plugin[0].budget"], "{report}");
}
