//! That a stream holds no more than it must: what it shows is the longest text with which the redaction of every
//! continuation begins.

use super::tests::{NEAR_MISSES, SECRETS, Shown, every_kind};
use crate::redactor::{Pattern, Redactor};
use crate::reference;

/// Every text over an alphabet up to a length.
fn texts(alphabet: &[&str], longest: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..longest {
        let to = all.len();
        for at in from..to {
            for symbol in alphabet {
                all.push(format!("{}{symbol}", all[at]));
            }
        }
        from = to;
    }
    all
}

fn common_beginning(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

fn assert_exact(patterns: &[&str], alphabet: &[&str], prefix: usize, continuation: usize) {
    // Labels of one symbol each, so that two of them have no beginning in common.
    let patterns: Vec<Pattern> = patterns
        .iter()
        .zip(["X", "Y", "Z"])
        .map(|(regex, name)| Pattern { name: name.into(), regex: (*regex).into(), max_match: 100 })
        .collect();
    let redactor = Redactor::new(&[], &patterns, "{kind}", Vec::new()).expect("patterns");
    let continuations = texts(alphabet, continuation);
    for text in texts(alphabet, prefix) {
        let mut certain = reference::redact(&redactor, &text);
        for continuation in &continuations {
            let whole = reference::redact(&redactor, &format!("{text}{continuation}"));
            certain.truncate(common_beginning(&certain, &whole));
            // A continuation may also make the output longer than `text` alone: the label of an open match.
        }
        let shown = Shown::default().push(&redactor, &text);
        assert_eq!(shown, certain, "after {text:?}");
    }
}

#[test]
fn a_stream_shows_all_that_is_certain() {
    assert_exact(&["ab+c"], &["a", "b", "c"], 5, 4);
    assert_exact(&["aba|bb"], &["a", "b"], 7, 4);
    assert_exact(&["abc", "bcda?", "b"], &["a", "b", "c", "d"], 4, 4);
    assert_exact(&["a(?:b*c)?", "ab"], &["a", "b", "c"], 5, 4);
    assert_exact(&[r"\bab\b"], &["a", "b", " "], 5, 4);
    assert_exact(&["é+x"], &["é", "x", "y"], 5, 3);
}

#[test]
fn built_in_kinds_hold_only_what_a_continuation_may_take() {
    let redactor = every_kind();
    let mut continuations: Vec<String> = texts(&["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"], 2);
    continuations.extend(["@a.bc", "é@a.bc", ":1:2:3:4:5:6:7", "12:0:0:0:0:0:0:0"].map(str::to_owned));
    continuations.extend((0..10).map(|digit| format!("111111 1111{digit}")));
    continuations.extend((0..10).map(|digit| format!(" 111111 1111{digit}")));
    for secret in SECRETS {
        continuations
            .extend((0..secret.len()).filter(|&at| secret.is_char_boundary(at)).map(|at| secret[at..].to_owned()));
    }
    let mut idle = Vec::new();
    for text in SECRETS.into_iter().chain(NEAR_MISSES) {
        for at in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
            let so_far = &text[..at];
            let mut shown = Shown::default();
            let out = shown.push(redactor, so_far);
            let held = &so_far[shown.stream.settled() as usize..];
            let Some(first) = held.chars().next() else { continue };
            let as_it_is = format!("{out}{first}");
            let taken = |rest: &str| !reference::redact(redactor, &format!("{so_far}{rest}")).starts_with(&as_it_is);
            if !taken(&text[at..]) && !continuations.iter().any(|rest| taken(rest)) {
                idle.push(format!("{so_far:?} holds {held:?}"));
            }
        }
    }
    insta::assert_snapshot!(idle.join("\n"));
}

#[test]
fn plain_text_is_let_go_at_once() {
    let redactor = every_kind();
    for text in
        ["hello world. ", "Done! ", "in 2026, ", "a: b; ", "漢字かな", "x = y * 3;\n", "café, ", "2026 ", "#1 (one) "]
    {
        assert_eq!(Shown::default().push(redactor, text), text);
    }
}

#[test]
fn what_may_become_a_secret_is_held() {
    let redactor = every_kind();
    for (text, shown) in [
        ("card 4111 ", "card "),
        ("mail bob", "mail "),
        ("mail bob@acme.com", "mail [REDACTED:email]"),
        ("-----BEGIN PRIV", ""),
        ("-----BEGIN PRIVATE KEY-----\nMII", "[REDACTED:private_key]"),
        ("key sk-ant-api03-abc", "key "),
        // An email address until it is too long for one.
        ("key sk-ant-api03-abcdefghijklmnopqrst", "key "),
        ("key sk-ant-api03-abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "key [REDACTED:api_key]"),
    ] {
        assert_eq!(Shown::default().push(redactor, text), shown, "{text:?}");
    }
}
