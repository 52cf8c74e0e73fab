use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::kinds::Kind;
use crate::redactor::{DEFAULT_REPLACEMENT, Pattern};
use crate::reference;

/// What a consumer makes of a stream: the text that it may show so far.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) stream: Stream,
    source: String,
    edits: Vec<Edit>,
}

impl Shown {
    pub(crate) fn push(&mut self, redactor: &Redactor, text: &str) -> String {
        self.source.push_str(text);
        self.stream.push(redactor, text);
        self.text(redactor)
    }

    fn finish(&mut self, redactor: &Redactor) -> String {
        self.stream.finish(redactor);
        assert_eq!(self.stream.settled(), self.source.len() as u64);
        self.text(redactor)
    }

    fn text(&mut self, redactor: &Redactor) -> String {
        self.edits.extend(self.stream.take_edits());
        let mut out = String::new();
        let mut at = 0;
        for edit in &self.edits {
            out.push_str(&self.source[at..edit.start as usize]);
            if let Some(kind) = edit.label {
                out.push_str(&redactor.labels[usize::from(kind)].plain);
            }
            at = edit.end as usize;
        }
        out.push_str(&self.source[at..self.stream.settled() as usize]);
        out
    }
}

pub(crate) fn every_kind() -> &'static Redactor {
    static EVERY_KIND: LazyLock<Redactor> = LazyLock::new(|| {
        Redactor::new(&Kind::ALL, &[], DEFAULT_REPLACEMENT, Vec::new()).expect("built-in kinds compile")
    });
    &EVERY_KIND
}

/// The built-in kinds named, and nothing else.
pub(crate) fn of_kinds(kinds: &[Kind]) -> Redactor {
    Redactor::new(kinds, &[], DEFAULT_REPLACEMENT, Vec::new()).expect("built-in kinds compile")
}

fn with_patterns(patterns: &[(&str, u32)], allowed: &[&str]) -> Redactor {
    let patterns: Vec<Pattern> = patterns
        .iter()
        .enumerate()
        .map(|(at, (regex, max_match))| Pattern {
            name: format!("p{at}"),
            regex: (*regex).into(),
            max_match: *max_match,
        })
        .collect();
    let allowed = allowed.iter().map(|text| (*text).to_owned()).collect();
    Redactor::new(&[], &patterns, "<{kind}>", allowed).expect("patterns")
}

pub(crate) fn whole(redactor: &Redactor, text: &str) -> String {
    let mut shown = Shown::default();
    shown.push(redactor, text);
    shown.finish(redactor)
}

/// Streams a text in pieces; checks what holds at every moment; answers the whole output.
fn in_pieces(redactor: &Redactor, text: &str, cuts: &[usize], expected: &str) {
    let mut shown = Shown::default();
    let mut before = 0;
    let mut from = 0;
    for &cut in cuts.iter().chain([&text.len()]) {
        let so_far = shown.push(redactor, &text[from..cut]);
        assert!(expected.starts_with(&so_far), "{text:?} cut at {cuts:?}: {so_far:?} is no beginning of {expected:?}");
        assert!(so_far.len() >= before, "{text:?} cut at {cuts:?}: took something back");
        before = so_far.len();
        from = cut;
    }
    assert_eq!(shown.finish(redactor), expected, "{text:?} cut at {cuts:?}");
}

pub(crate) const SECRETS: [&str; 40] = [
    "bob@acme.com",
    "first.last+tag@mail.example.co.uk",
    "jörg@müller.example",
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "378282246310005",
    "3782 822463 10005",
    "6304 0000 0000 0000",
    "DE89 3704 0044 0532 0130 00",
    "GB82WEST12345698765432",
    "123-45-6789",
    "+1 (415) 555-0132",
    "+49 171 1234567",
    "(415) 555-0132",
    "415-555-0132",
    "1-415-555-0132",
    "06 12 34 56 78",
    "020 7946 0958",
    "0171/1234567",
    "192.168.1.254",
    "2001:db8::8a2e:370:7334",
    "fe80::1",
    "::ffff:10.1.2.3",
    "sk-ant-api03-abcdefghijklmnopqrst",
    "sk-abcdefghij1234567890abcd",
    "sk-proj-Ab1_cdefghijklmnopqrstuvwx",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijklm",
    "xoxb-123456789012-abcdef",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "sk_live_abcdefghij123456",
    "glpat-abcdefghij1234567890",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "hf_abcdefghijklmnopqrstuvwxyzabcdefgh",
    "SK0123456789abcdef0123456789abcdef",
    "Bearer abc.def-ghi_jkl012345678",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\\nMIIEow==\\n-----END RSA PRIVATE KEY-----",
];

/// Text that looks like something and is nothing, or is two things at once.
pub(crate) const NEAR_MISSES: [&str; 26] = [
    "hello world. ",
    "Version 1.2.3.4.5 of 2026-11-30 at 12:30:45.",
    "4111 1111 1111 1112",
    "41111111111111111111",
    "12 4111 1111 1111 1111 4111 1111 1111 1111 7",
    "4111 1111 1111 1111 123",
    "1.3.6.1.4.1.311",
    "550e8400-e29b-41d4-a716-446655440000",
    "000-12-3456 666-12-3456 900-12-3456",
    "09/11/2001 12:30",
    "01 02 03 04 05 06 07 08",
    "12.34.56.78@example.com",
    "sk-ant-short and task-force-of-twenty-one-people",
    "sk-learn-is-a-great-library-for-everyone",
    "bob@acme.com.eve@example.org",
    "bob@localhost @home a@b.c",
    "DE89 3704 0044 0532 0130 01",
    "use `-----BEGIN PRIVATE KEY-----` here",
    "-----BEGIN PRIVATE KEY----- MIIE without an end",
    "std::cell::RefCell ab::cd x[1::2] ::",
    "0.4242424242424242 and 1e10",
    "我的邮箱是bob@example.com请联系 4111111111111111。",
    "\u{1f600}\u{1f601} caf\u{e9}@caf\u{e9}.fr \u{1f602}",
    "4111111111111111,4242424242424242;378282246310005",
    "sk-abcdefghij1234567890abcd@example.com",
    "0049 171 1234567, +12, +1234567890123456789",
];

#[test]
fn every_secret_is_redacted_whole_and_alone() {
    let redactor = every_kind();
    for secret in SECRETS {
        for (before, after) in [("", ""), ("x: ", "."), ("(", ")"), ("\"", "\", "), ("一", "二")] {
            let text = format!("{before}{secret}{after}");
            let out = whole(redactor, &text);
            assert!(out.starts_with(&format!("{before}[REDACTED:")), "{text:?} became {out:?}");
            assert!(out.ends_with(&format!("]{after}")), "{text:?} became {out:?}");
            assert_eq!(out.matches("REDACTED").count(), 1, "{text:?} became {out:?}");
        }
    }
}

#[test]
fn what_near_misses_become() {
    let redactor = every_kind();
    let lines: Vec<String> =
        NEAR_MISSES.iter().map(|text| format!("{text:?}\n  -> {:?}", whole(redactor, text))).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn streams_agree_with_the_definition_for_every_one_and_two_cuts() {
    let redactor = every_kind();
    for text in SECRETS.into_iter().chain(NEAR_MISSES) {
        let expected = reference::redact(redactor, text);
        let cuts: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
        for (place, &first) in cuts.iter().enumerate() {
            in_pieces(redactor, text, &[first], &expected);
            for &second in &cuts[place..] {
                in_pieces(redactor, text, &[first, second], &expected);
            }
        }
        in_pieces(redactor, text, &cuts, &expected);
    }
}

#[test]
fn a_stream_is_small() {
    let redactor = every_kind();
    for text in SECRETS.into_iter().chain(NEAR_MISSES) {
        let mut stream = Stream::default();
        for (at, symbol) in text.char_indices() {
            stream.push(redactor, &text[at..at + symbol.len_utf8()]);
            let bytes =
                size_of::<Stream>() + stream.attempts.capacity() * size_of::<Attempt>() + stream.kept.capacity();
            assert!(bytes < 2048, "{bytes} bytes at {:?}", &text[..at]);
        }
    }
}

#[test]
fn attempts_without_end_do_not_pile_up() {
    let redactor = with_patterns(&[("[a-z]+1", 100_000), ("(?s)b.*?zz", 1000)], &[]);
    let mut stream = Stream::default();
    for _ in 0..5000 {
        stream.push(&redactor, "abc");
        assert!(stream.attempts.len() < 100, "{}", stream.attempts.len());
    }
}

/// Pieces of secrets, whole ones, and what stands between them.
pub(crate) fn jumble() -> impl Strategy<Value = String> {
    let any = prop::sample::select(SECRETS.into_iter().chain(NEAR_MISSES).collect::<Vec<_>>());
    let piece = (any, any_index(), any_index()).prop_map(|(text, from, to)| {
        let cuts: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
        let (from, to) = (cuts[from.index(cuts.len())], cuts[to.index(cuts.len())]);
        text[from.min(to)..from.max(to)].to_owned()
    });
    let whole = prop::sample::select(SECRETS.to_vec()).prop_map(str::to_owned);
    let glue =
        prop::sample::select(vec!["", " ", ".", "-", "@", ":", "1", "a", "A", "_", "ü", "漢", ", ", "\n", "0", "+"])
            .prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![piece, whole, glue], 1..7).prop_map(|parts| parts.concat())
}

pub(crate) fn any_index() -> impl Strategy<Value = prop::sample::Index> {
    any::<prop::sample::Index>()
}

/// `text` with cuts at character borders.
pub(crate) fn cut(text: &str, indices: &[prop::sample::Index]) -> Vec<usize> {
    let borders: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
    let mut cuts: Vec<usize> = indices.iter().map(|index| borders[index.index(borders.len())]).collect();
    cuts.sort_unstable();
    cuts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn streams_agree_with_the_definition(text in jumble(), indices in prop::collection::vec(any_index(), 0..9)) {
        let redactor = every_kind();
        in_pieces(redactor, &text, &cut(&text, &indices), &reference::redact(redactor, &text));
    }

    #[test]
    fn streams_of_configured_patterns_agree_with_the_definition(
        text in "[ab1 é.]{0,40}",
        indices in prop::collection::vec(any_index(), 0..6),
        max_match in 1_u32..9,
    ) {
        let redactor = with_patterns(&[(r"a+b", max_match), (r"\bb[ab ]*?1", max_match), (r"(?m)1 é$", 100), (r"(?:ab?)+\.", max_match), (".é", 3)], &["aab", "ab.", "b1"]);
        in_pieces(&redactor, &text, &cut(&text, &indices), &reference::redact(&redactor, &text));
    }
}
