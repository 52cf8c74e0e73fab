//! The redaction of a whole text by its definition, position by position: what streams are compared with.

use crate::automaton::{AT_END, BEFORE, END, LIVE};
use crate::redactor::Redactor;

/// Redacts a whole text.
pub(crate) fn redact(redactor: &Redactor, text: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at < text.len() {
        let Some((end, kind)) = match_at(redactor, text, at) else {
            let next = (at + 1..=text.len()).find(|&next| text.is_char_boundary(next)).expect("the end is one");
            out.push_str(&text[at..next]);
            at = next;
            continue;
        };
        if redactor.allowed.iter().any(|allowed| allowed == &text[at..end]) {
            out.push_str(&text[at..end]);
        } else {
            out.push_str(&redactor.labels[usize::from(kind)].plain);
        }
        at = end;
    }
    out
}

/// The longest match at a position, and its kind.
fn match_at(redactor: &Redactor, text: &str, start: usize) -> Option<(usize, u16)> {
    let mut best: Option<(usize, u16)> = None;
    for number in 0..redactor.recognisers.len() {
        let end = attempt(redactor, number, text, start);
        if end > best.map_or(start, |(end, _)| end) {
            best = Some((end, redactor.recognisers[number].kind));
        }
    }
    best
}

/// Behind the longest accepted candidate of one recogniser; `start` if there is none.
fn attempt(redactor: &Redactor, number: usize, text: &str, start: usize) -> usize {
    let recogniser = &redactor.recognisers[number];
    let bytes = text.as_bytes();
    let before = start.checked_sub(1).map(|at| bytes[at]);
    let after_digit = start >= 2 && bytes[start - 2].is_ascii_digit();
    if !recogniser.left.allows(before)
        || before.is_some_and(|before| after_digit && !recogniser.left.allows_after_digit(before))
    {
        return start;
    }
    let mut state = recogniser.automaton.start(before);
    let (mut end, mut undecided) = (start, 0);
    for at in start..bytes.len() {
        state = recogniser.automaton.step(state, bytes[at]);
        let flags = recogniser.automaton.flags(state);
        undecided += u32::from(bytes[at] & 0xC0 != 0x80);
        let mut candidates = Vec::new();
        if flags & BEFORE != 0 {
            candidates.push((at, Some(bytes[at])));
        }
        if flags & END != 0 {
            candidates.push((at + 1, None));
        }
        if flags & AT_END != 0 && at + 1 == bytes.len() {
            candidates.push((at + 1, None));
        }
        for (to, next) in candidates {
            if let Some(length) = recogniser.accepts(&text[start..to], next) {
                (end, undecided) = (end.max(start + length), 0);
            }
        }
        if flags & LIVE == 0 || (at + 1 - start) as u64 >= recogniser.reach {
            break;
        }
        if undecided >= recogniser.bound && text.is_char_boundary(at + 1) {
            (end, undecided) = (at + 1, 0);
        }
    }
    end
}
