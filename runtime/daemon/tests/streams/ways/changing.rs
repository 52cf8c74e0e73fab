//! What an observer changed is changed, wherever it stands, and nothing else is.

use seam_wire::Protocol;

use super::{at, shown};
use crate::checker::{self, ONE_MESSAGE};
use crate::corpus::{Source, bodies, streams};
use crate::cuts;
use crate::drive::{Ran, body_chunks, chunks, run, run_body, run_with};
use crate::frames::Frame;
use crate::observers::{self, Answering, Itself, MADE_NAME, MASK, Owned, Redacts, TurnsToCall, UpperCases, rung};
use crate::oracle::{self, UpperCase, body_frames};
use crate::report::Report;

/// Runs every way of cutting; all must leave the same as the whole stream, which is given back.
fn whole_and_cut<O: Answering + 'static>(source: &Source, report: &mut Report, observer: impl Fn() -> O) -> Ran {
    let whole = run_with(source, observer());
    report.check(&source.name, whole.faultless());
    for cuts in cuts::some_ways(source) {
        let cut = run(source, &cuts.at, vec![rung(observer())]);
        let same = if cut.bytes == whole.bytes { Ok(()) } else { Err(differs(&whole, &cut)) };
        report.check(&format!("{}, {}", source.name, cuts.name), same);
    }
    whole
}

fn differs(whole: &Ran, cut: &Ran) -> String {
    let same = whole.bytes.iter().zip(&cut.bytes).take_while(|(one, other)| one == other).count();
    let rest = |ran: &Ran| shown(&ran.bytes[same..]).chars().take(200).collect::<String>();
    format!("what leaves depends on the cuts, from byte {same}: {:?} in place of {:?}", rest(cut), rest(whole))
}

/// Pairs the frames that came with those that left: there must be as many, with the same names.
fn pair<'a>(came: &'a [Frame], left: &'a [Frame]) -> Result<Vec<(usize, &'a Frame, &'a Frame)>, String> {
    if left.len() < came.len() {
        let missing = came.iter().zip(left).position(|(came, left)| came.event != left.event).unwrap_or(left.len());
        return Err(format!("{} frames came and {} left; {}", came.len(), left.len(), at(missing, came.get(missing))));
    }
    let pairs: Vec<_> =
        came.iter().zip(left).enumerate().map(|(position, (came, left))| (position, came, left)).collect();
    match pairs.iter().find(|(_, came, left)| came.event != left.event) {
        Some((position, came, left)) => Err(format!("{}: its event is {:?}", at(*position, Some(came)), left.event)),
        None => Ok(pairs),
    }
}

/// An observer that amends everything to what it is.
pub(crate) fn itself(protocol: Protocol) {
    let mut report = Report::default();
    for source in streams(protocol) {
        let ran = whole_and_cut(&source, &mut report, Itself::default);
        report.check(&source.name, same_json(&source.frames(), &ran.frames(&source)));
    }
    for source in bodies(protocol) {
        let ran = run_body(&source, vec![rung(Itself::default())]);
        report.check(&source.name, same_json(&body_frames(&source.bytes), &body_frames(&ran.bytes)));
    }
    report.close();
}

fn same_json(came: &[Frame], left: &[Frame]) -> Result<(), String> {
    for (position, came, left) in pair(came, left)? {
        match (&came.json, &left.json) {
            (Some(one), Some(other)) if one == other => {}
            (Some(one), Some(other)) => {
                return Err(format!("{}: {}", at(position, Some(came)), oracle::difference("", one, other)));
            }
            _ if came.data == left.data => {}
            _ => return Err(format!("{}: left as {:?}", at(position, Some(came)), left.data)),
        }
    }
    Ok(())
}

/// An observer that upper-cases all text.
pub(crate) fn upper_cased(protocol: Protocol) {
    let mut report = Report::default();
    for source in streams(protocol) {
        let ran = whole_and_cut(&source, &mut report, UpperCases::default);
        let came = oracle::that_stay(protocol, source.frames());
        upper_frames(&source, &came, &ran.frames(&source), &mut report);
    }
    for source in bodies(protocol) {
        let ran = run_body(&source, vec![rung(UpperCases::default())]);
        report.check(&source.name, ran.faultless());
        upper_frames(&source, &body_frames(&source.bytes), &body_frames(&ran.bytes), &mut report);
    }
    report.close();
}

fn upper_frames(source: &Source, came: &[Frame], left: &[Frame], report: &mut Report) {
    let pairs = match pair(came, left) {
        Ok(pairs) => pairs,
        Err(failure) => return report.check(&source.name, Err(failure)),
    };
    let mut oracle = UpperCase::new(source.protocol);
    for (position, came, left) in pairs {
        let result = match (&came.json, &left.json) {
            (Some(one), Some(other)) => oracle.compare(one, other),
            _ if came.data == left.data => Ok(()),
            _ => Err(format!("left as {:?}", left.data)),
        };
        if let Err(failure) = result {
            // One failure says enough of a stream: what follows it depends on it.
            return report.check(&source.name, Err(format!("{}: {failure}", at(position, Some(came)))));
        }
    }
    report.check(&source.name, Ok(()));
}

/// An observer that replaces one word, spread over chunks where the stream has such a one.
pub(crate) fn redacted(protocol: Protocol) {
    let mut report = Report::default();
    for source in streams(protocol) {
        let Some(word) = word_of(protocol, &source.frames(), &chunks(&source)) else { continue };
        let ran = whole_and_cut(&source, &mut report, || Redacts::new(&word));
        let came = checker::read(protocol, &source.frames());
        let left = checker::read(protocol, &ran.frames(&source));
        let what = format!("{}, without {word:?}", source.name);
        report.check(&what, without_word(&word, &shown(&ran.bytes)));
        report.check(&what, left.texts.values().try_for_each(|text| without_word(&word, text)));
        report.check(&what, left.breaks_no_more_than(&came));
        report.check(&what, requoted(&word, &came, &left));
    }
    for source in bodies(protocol) {
        let Some(word) = word_of(protocol, &body_frames(&source.bytes), &body_chunks(&source)) else { continue };
        let ran = run_body(&source, vec![rung(Redacts::new(&word))]);
        report.check(&format!("{}, without {word:?}", source.name), without_word(&word, &shown(&ran.bytes)));
    }
    report.close();
}

/// That annotations are about the same text as before, but for the word. Those that no longer say where are none.
fn requoted(word: &str, came: &checker::Reading, left: &checker::Reading) -> Result<(), String> {
    if came.quotes.len() != left.quotes.len() {
        return Ok(());
    }
    for (came, left) in came.quotes.iter().zip(&left.quotes) {
        let is_inside = |bound: usize| {
            let mut words = came.text.match_indices(word);
            words.any(|(at, _)| at < bound && bound < at + word.len())
        };
        let expected = came.quoted().replace(word, MASK);
        if left.quoted() != expected && !is_inside(came.range.start) && !is_inside(came.range.end) {
            return Err(format!("an annotation is about {:?} and not {expected:?}", left.quoted()));
        }
    }
    Ok(())
}

/// A word that stands in text alone, and not in the JSON around it.
fn word_of(protocol: Protocol, frames: &[Frame], chunks: &[Owned]) -> Option<String> {
    let rest = oracle::without_text(protocol, frames);
    observers::words(chunks).into_iter().find(|word| !rest.contains(word.as_str()))
}

fn without_word(word: &str, text: &str) -> Result<(), String> {
    let Some(found) = text.find(word) else { return Ok(()) };
    let start = text[..found].char_indices().rev().nth(200).map_or(0, |(start, _)| start);
    let around: String = text[start..].chars().take(400).collect();
    Err(format!("the word is still there: …{around}…"))
}

/// A chunk of content that becomes a tool call: the first, the last and some between.
pub(crate) fn turned_to_calls(protocol: Protocol) {
    let mut report = Report::default();
    for source in streams(protocol) {
        let all = chunks(&source);
        let came = checker::read(protocol, &source.frames());
        let agrees = came.texts == checker::texts_of(protocol, &all);
        let is_content = |chunk: &Owned| chunk.kind == seam_plugin_api::ChunkKind::ContentDelta;
        let contents: Vec<Owned> = all.into_iter().filter(is_content).collect();
        for nth in cuts::sample(&source.name, contents.len(), 8) {
            let ran = run_with(&source, TurnsToCall { nth, seen: 0 });
            let left = checker::read(protocol, &ran.frames(&source));
            let what = format!("{}, content {nth} ({:?}) made a call", source.name, contents[nth].text);
            report.check(&what, ran.faultless());
            report.check(&what, left.breaks_no_more_than(&came));
            report.check(&what, is_called(protocol, &came, &left));
            if agrees {
                report.check(&what, has_the_rest(&came, &left, &contents[nth].text));
            }
        }
    }
    report.close();
}

/// That all content but the chunk's is still there.
fn has_the_rest(came: &checker::Reading, left: &checker::Reading, gone: &str) -> Result<(), String> {
    let length = |reading: &checker::Reading| -> usize {
        reading.texts.iter().filter(|((_, lane), _)| *lane == checker::CONTENT).map(|(_, text)| text.len()).sum()
    };
    let (before, after) = (length(came), length(left));
    // Some texts come in one piece, outside of what is streamed.
    let was_streamed = came.texts.iter().any(|((_, lane), text)| *lane == checker::CONTENT && text.contains(gone));
    if after + gone.len() == before || !was_streamed {
        Ok(())
    } else {
        Err(format!("{before} bytes of content became {after}"))
    }
}

/// That the call is there, once, and that the stream still ends as it did.
fn is_called(protocol: Protocol, came: &checker::Reading, left: &checker::Reading) -> Result<(), String> {
    let made = left.calls.iter().filter(|name| *name == MADE_NAME).count();
    // Completions have no calls.
    let expected = usize::from(protocol != Protocol::OpenAiCompletions);
    if made != expected {
        return Err(format!("the call is there {made} times: {:?}", left.calls));
    }
    if came.standing != left.standing {
        return Err(format!("the stream is left {:?} and not {:?}", left.standing, came.standing));
    }
    if came.broken.contains_key(ONE_MESSAGE) {
        // Each message has a reason of its own.
        return Ok(());
    }
    let is_plain = |reason: &&String| matches!(reason.as_str(), "stop" | "end_turn");
    match left.finishes.values().flatten().find(is_plain) {
        Some(reason) if expected > 0 && left.finishes.len() == 1 => Err(format!("it finishes with {reason:?}")),
        _ => Ok(()),
    }
}
