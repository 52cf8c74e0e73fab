use proptest::prelude::*;
use regex_automata::Input;
use regex_automata::meta::Regex;

use super::*;
use crate::config::REFUSAL;

const WIDE: u32 = 16 * 1024;

/// Where a text that comes in these pieces stops: in front of which piece (their number: at the end), and the match.
fn stop(patterns: &Patterns, pieces: &[&str]) -> Option<(usize, String)> {
    let (mut scan, mut scratch) = (Scan::default(), Scratch::default());
    for (at, piece) in pieces.iter().enumerate() {
        if let Some(text) = scan.push(patterns, &mut scratch, piece) {
            return Some((at, text));
        }
    }
    scan.finish(patterns, &mut scratch).map(|text| (pieces.len(), text))
}

fn compile(pattern: &str) -> Patterns {
    Patterns::compile(&[pattern], WIDE).unwrap()
}

fn stopped(at: usize, text: &str) -> Option<(usize, String)> {
    Some((at, text.to_owned()))
}

#[test]
fn generic_refusals_stop_and_answers_do_not() {
    let patterns = compile(REFUSAL);
    for refusal in [
        "I cannot help",
        "i can not assist",
        "I'm not able to comply",
        "I’m not able to provide",
        "I am unable to help",
        "I'm unable to\nassist",
        "Sorry, I can't help",
        "Sorry, I can’t help",
        "sorry, I cant provide",
        "I won't be able to assist",
        "I won’t be able to assist",
        "I wont be able to assist",
    ] {
        let text = format!("Hello. {refusal} with that.");
        assert_eq!(stop(&patterns, &[&text]), stopped(0, refusal), "{refusal}");
    }
    for answer in [
        "I cannot see why not.",
        "I am able to help.",
        "I cannot helpfully say more than that.",
        "Hawaii cannot help",
        "She can't help it.",
    ] {
        assert_eq!(stop(&patterns, &[answer]), None, "{answer}");
    }
}

#[test]
fn a_match_over_many_pieces_stops_at_the_piece_that_completes_it() {
    let patterns = compile("cannot help");
    assert_eq!(stop(&patterns, &["I can", "not", " ", "hel", "p you", " now"]), stopped(4, "cannot help"));
}

#[test]
fn what_a_boundary_needs_is_waited_for_and_no_more() {
    let patterns = compile(r"\bhelp\b");
    assert_eq!(stop(&patterns, &["I help"]), stopped(1, "help"));
    assert_eq!(stop(&patterns, &["I help", "ful"]), None);
    assert_eq!(stop(&patterns, &["I help", "", ". Yes"]), stopped(2, "help"));
    assert_eq!(stop(&patterns, &["I help."]), stopped(0, "help"));
    assert_eq!(stop(&patterns, &["x", "help "]), None);
    assert_eq!(stop(&compile("help"), &["I help", "ful"]), stopped(0, "help"));
}

#[test]
fn word_boundaries_are_those_of_unicode_unless_the_pattern_says_otherwise() {
    assert_eq!(stop(&compile(r"\bbc\b"), &["é", "bc "]), None);
    assert_eq!(stop(&compile(r"(?-u:\b)bc(?-u:\b)"), &["é", "bc "]), stopped(1, "bc"));
    assert_eq!(stop(&compile(r"straße\b"), &["stra", "ße", "n"]), None);
    assert_eq!(stop(&compile(r"straße\b"), &["stra", "ße", "…"]), stopped(2, "straße"));
}

#[test]
fn anchors_are_those_of_the_text_and_not_of_its_pieces() {
    assert_eq!(stop(&compile("^no"), &["x", "no"]), None);
    assert_eq!(stop(&compile("^no"), &["n", "o"]), stopped(1, "no"));
    assert_eq!(stop(&compile("no$"), &["no", "x"]), None);
    assert_eq!(stop(&compile("no$"), &["yes ", "no"]), stopped(2, "no"));
    assert_eq!(stop(&compile("(?m)^no$"), &["yes\n", "no", "\nyes"]), stopped(2, "no"));
}

#[test]
fn a_match_is_decided_at_once_where_every_continuation_has_it() {
    assert_eq!(stop(&compile(r"a\b{end-half}|ab?"), &["a", "b"]), stopped(0, "a"));
}

#[test]
fn the_shortest_match_that_ends_first_is_named() {
    let patterns = compile("I cannot.*help");
    assert_eq!(stop(&patterns, &["I cannot, I cannot", " help, no help"]), stopped(1, "I cannot help"));
}

#[test]
fn any_of_several_patterns_stops() {
    let patterns = Patterns::compile(&["secret", "(?i)refuse"], WIDE).unwrap();
    assert_eq!(stop(&patterns, &["I Ref", "use the sec", "ret"]), stopped(1, "Refuse"));
}

#[test]
fn a_scan_that_has_matched_goes_on_behind_the_piece() {
    let (mut scan, mut scratch) = (Scan::default(), Scratch::default());
    let patterns = compile(r"ab+\b|x..y");
    let mut push = |text| scan.push(&patterns, &mut scratch, text);
    assert_eq!(push("xéa"), None);
    assert_eq!(push("b x2"), Some("ab".to_owned()));
    assert_eq!(push("3y xé"), None);
    assert_eq!(push("éy x45"), Some("xééy".to_owned()));
    assert_eq!(push("y ab"), None);
    assert_eq!(scan.finish(&patterns, &mut scratch), Some("ab".to_owned()));
    assert_eq!(scan.finish(&patterns, &mut scratch), None);
}

#[test]
fn a_text_that_cannot_begin_a_match_is_not_kept() {
    let (mut scan, mut scratch) = (Scan::default(), Scratch::default());
    let patterns = compile("<begin>.*<end>");
    for _ in 0..1000 {
        assert_eq!(scan.push(&patterns, &mut scratch, "Nothing here. "), None);
    }
    assert_eq!(scan.kept.capacity(), 0);
}

#[test]
fn what_is_kept_stays_within_twice_the_window() {
    let (mut scan, mut scratch) = (Scan::default(), Scratch::default());
    let patterns = Patterns::compile(&["(?s)<.*>"], 100).unwrap();
    for _ in 0..1000 {
        assert_eq!(scan.push(&patterns, &mut scratch, "a < b, "), None);
        assert!(scan.kept.len() <= 2 * 107, "{}", scan.kept.len());
    }
    assert_eq!(scan.push(&patterns, &mut scratch, "and >"), Some("< b, and >".to_owned()));
}

/// Regular expressions over a few characters, with every assertion.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "b",
        "é",
        " ",
        "\\n",
        "[ab]",
        "[^a]",
        "\\w",
        "\\W",
        ".",
        "(?s:.)",
        "\\b",
        "\\B",
        "(?-u:\\b)",
        "^",
        "$",
        "(?m:^)",
        "(?m:$)",
        "(?Rm:^)",
        "(?Rm:$)",
        "\\b{start}",
        "\\b{end}",
        "\\b{start-half}",
        "\\b{end-half}",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner, prop::sample::select(vec!["*", "+", "?", "*?", "{1,3}"]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    })
}

fn text() -> impl Strategy<Value = Vec<char>> {
    prop::collection::vec(prop::sample::select(vec!['a', 'b', 'é', ' ', '\n', '\r', '–', '🦀']), 0..14)
}

/// A text in pieces: behind each character whether a piece ends there.
fn pieces(text: &[char], cuts: &[bool]) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for (at, character) in text.iter().enumerate() {
        pieces.last_mut().unwrap().push(*character);
        if cuts[at] {
            pieces.push(String::new());
        }
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_cutting_stops_if_the_whole_text_matches(
        pattern in pattern(), text in text(), cuts in prop::collection::vec(any::<bool>(), 14)
    ) {
        let Ok(patterns) = Patterns::compile(&[&pattern], WIDE) else { return Ok(()) };
        let whole: String = text.iter().collect();
        let expected = Regex::new(&pattern).unwrap().is_match(&whole);
        let cut = pieces(&text, &cuts);
        let cut: Vec<&str> = cut.iter().map(String::as_str).collect();
        prop_assert_eq!(stop(&patterns, &cut).is_some(), expected);
        prop_assert_eq!(stop(&patterns, &[&whole]).is_some(), expected);
    }

    #[test]
    fn a_stop_comes_with_the_last_character_of_the_first_match_or_the_one_after(pattern in pattern(), text in text()) {
        let Ok(patterns) = Patterns::compile(&[&pattern], WIDE) else { return Ok(()) };
        let whole: String = text.iter().collect();
        let regex = Regex::new(&pattern).unwrap();
        // Assertions see the whole text; only the match must lie within the span.
        let first_end = (0..=text.len()).find(|characters| {
            let end = text[..*characters].iter().map(|character| character.len_utf8()).sum();
            regex.is_match(Input::new(&whole).span(0..end))
        });
        let each = pieces(&text, &[true; 14]);
        let each: Vec<&str> = each[..text.len()].iter().map(String::as_str).collect();
        let found = stop(&patterns, &each);
        prop_assert_eq!(found.is_some(), first_end.is_some());
        if let (Some((at, named)), Some(end)) = (found, first_end) {
            prop_assert!(at + 1 == end || at == end, "stopped at {} for a match that ends at {}", at, end);
            prop_assert!(each[..end].concat().ends_with(&named));
        }
    }

    #[test]
    fn a_match_is_found_exactly_if_it_fits_the_window(
        text in prop::collection::vec(prop::sample::select(vec!['a', 'é', 'c']), 0..20),
        window in 2..8_u32,
        cuts in prop::collection::vec(any::<bool>(), 20),
    ) {
        let patterns = Patterns::compile(&["a.+c"], window).unwrap();
        let fits = |span: &[char]| span.len() >= 3 && span[0] == 'a' && span[span.len() - 1] == 'c';
        let expected = (3..=window as usize).any(|length| text.windows(length).any(fits));
        let cut = pieces(&text, &cuts);
        let cut: Vec<&str> = cut.iter().map(String::as_str).collect();
        let found = stop(&patterns, &cut);
        prop_assert_eq!(found.is_some(), expected);
        prop_assert!(found.is_none_or(|(_, named)| named.chars().count() <= window as usize));
    }
}
