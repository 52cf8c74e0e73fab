//! Whatever becomes of a file, reading it ends in a configuration or in faults that stand inside it.

use std::path::Path;

use proptest::prelude::*;

use super::super::parse;
use super::REST;

const VALID: &str = r#"[server]
listen = "127.0.0.1:8080" # é
workers = 2
max_frame = "16MiB"

[log]
level = "info,seamd=debug"

[[provider]]
name = "demo"
family = "openai"
recorded = "src"
pace = "20ms"

[[provider]]
name = "mine"
family = "openai"
base_url = "https://h:1/v1"
api_key = { command = ["x", "y"] }
headers = { x-team = "blé" }

[[plugin]]
path = "a.so"
call_class = ["utility", "converse"]
hold = { chunks = 3 }
config.list = [1, 2.5, { a = """
b""" }]

[plugin.config.deep]
day = 1979-05-27
"#;

/// What a slip of the hand or a broken editor might put anywhere.
const PIECES: [&str; 24] = [
    "",
    "\"",
    "'",
    "\"\"\"",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    "\r",
    "\r\n",
    "#",
    "\u{feff}",
    "é",
    "🞄",
    "\0",
    "\\u",
    "inf",
    "[server]\n",
    "[[plugin]]\n",
];

/// Reads `bytes` and checks every fault's place.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("seamd.toml");
    let Err(report) = parse(&path, bytes) else { return Ok(()) };
    prop_assert!(!report.is_empty());
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines: Vec<&str> = text.split('\n').collect();
    let rendered = report.to_string();
    for fault in report.faults() {
        prop_assert!((1..=lines.len()).contains(&fault.line), "{fault:?}");
        let columns = lines[fault.line - 1].chars().count() + 1;
        prop_assert!((1..=columns).contains(&fault.column), "{fault:?}");
        let place = format!(":{}:{}\n", fault.line, fault.column);
        prop_assert!(rendered.contains(&place), "{place} is not in {rendered}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn pieces_put_anywhere(edits in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, 0..PIECES.len()), 1..6)) {
        let mut text = format!("{VALID}{REST}");
        for (index, length, piece) in edits {
            let start = text.floor_char_boundary(index.index(text.len() + 1));
            let end = text.ceil_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end, PIECES[piece]);
        }
        check(text.as_bytes())?;
    }

    #[test]
    fn bytes_put_anywhere(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = format!("{VALID}{REST}").into_bytes();
        for (index, byte) in edits {
            let place = index.index(bytes.len());
            bytes[place] = byte;
        }
        check(&bytes)?;
    }

    #[test]
    fn any_text(text in "[\\[\\]{}=.,#\"'\\\\\r\n\t a-z0-9é🞄\u{feff}-]{0,60}") {
        check(text.as_bytes())?;
    }
}
