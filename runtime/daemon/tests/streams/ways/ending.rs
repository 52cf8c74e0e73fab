//! Every end is one proper end of the protocol, wherever it comes.

use std::collections::BTreeMap;

use seam_plugin_api::{ChunkKind, Outcome};
use seam_wire::Protocol;
use serde_json::Value;

use super::{at, common_frames, is_array, positions, shown};
use crate::checker::{self, Reading, Standing, texts_of};
use crate::corpus::{Source, bodies, streams};
use crate::cuts;
use crate::drive::{End, Ran, body_chunks, chunks, run_body, run_part, run_with};
use crate::frames::{self, Frame};
use crate::observers::{Owned, StopsAt, is_text, rung};
use crate::oracle;
use crate::report::Report;

/// A stop in front of each chunk in turn.
pub(crate) fn stopped(protocol: Protocol) {
    let mut report = Report::default();
    for source in streams(protocol) {
        let case = Case::new(&source);
        for position in cuts::sample(&source.name, case.chunks.len(), positions(&source)) {
            let chunk = &case.chunks[position];
            let what = format!("{}, stopped at chunk {position} ({} {:?})", source.name, chunk.kind, chunk.text);
            let ran = run_with(&source, StopsAt(chunk.seq));
            report.check(&what, case.check_stop(position, &ran));
        }
    }
    report.close();
}

/// A stream with what is known of it.
struct Case<'a> {
    source: &'a Source,
    frames: Vec<Frame>,
    chunks: Vec<Owned>,
    came: Reading,
    /// The checker puts the same texts together as the chunks make.
    agrees: bool,
}

impl<'a> Case<'a> {
    fn new(source: &'a Source) -> Self {
        let (frames, chunks) = (source.frames(), chunks(source));
        let came = checker::read(source.protocol, &frames);
        let agrees = came.texts == texts_of(source.protocol, &chunks);
        Self { source, frames, chunks, came, agrees }
    }

    fn check_stop(&self, position: usize, ran: &Ran) -> Result<(), String> {
        let left = ran.frames(self.source);
        let reading = checker::read(self.source.protocol, &left);
        let told = |failure: String| {
            let common = common_frames(&self.frames, &self.source.bytes, &ran.bytes);
            let from = self.frames.get(common).map_or(self.source.bytes.len(), |frame| frame.range.start);
            format!("{failure}; {common} frames as they came, then {}", shown(&ran.bytes[from.min(ran.bytes.len())..]))
        };
        if ran.outcome != Some(Outcome::Stopped) {
            return Err(told(format!("the outcome is {:?}", ran.outcome)));
        }
        reading.breaks_no_more_than(&self.came).map_err(told)?;
        let ended = self.ended_before(ran);
        if !ended {
            checker::check_stopped(self.source.protocol, &reading, &finishes(&self.chunks[..position]))
                .map_err(told)?;
        }
        self.check_texts(position, &reading).map_err(told)?;
        self.check_nothing_behind(position, ran).map_err(told)
    }

    /// Whether all that left is what came, up to the protocol's own end: a stop behind it adds nothing.
    fn ended_before(&self, ran: &Ran) -> bool {
        let common = common_frames(&self.frames, &self.source.bytes, &ran.bytes);
        let is_all = common > 0 && self.frames[common - 1].range.end == ran.bytes.len();
        let standing = || checker::read(self.source.protocol, &self.frames[..common]).standing;
        is_all && matches!(standing(), Standing::Over | Standing::Failed)
    }

    /// That the client was told the texts in front of the stop and nothing else.
    fn check_texts(&self, position: usize, reading: &Reading) -> Result<(), String> {
        let before = texts_of(self.source.protocol, &self.chunks[..position]);
        for (lane, text) in &reading.texts {
            let came = self.came.texts.get(lane).map_or("", String::as_str);
            if !came.starts_with(text.as_str()) {
                return Err(format!("{lane:?} is told other than it came: {text:?}"));
            }
        }
        if self.agrees && reading.texts != before {
            return Err(format!("told {}", different_texts(&before, &reading.texts)));
        }
        Ok(())
    }

    /// That no text behind the stop stands anywhere in what left, where it is long enough to tell.
    fn check_nothing_behind(&self, position: usize, ran: &Ran) -> Result<(), String> {
        let left = shown(&ran.bytes);
        let common = common_frames(&self.frames, &self.source.bytes, &ran.bytes);
        let before: String = self.frames[..common].iter().filter_map(|frame| frame.data.as_deref()).collect();
        let earlier: String = self.chunks[..position].iter().map(|chunk| chunk.text.as_str()).collect();
        let behind = self.chunks[position..].iter().filter(|chunk| is_text(chunk.kind));
        for chunk in behind.take(200) {
            let text = chunk.text.trim();
            // A short word may be one of the protocol's own.
            let is_telling = (text.chars().count() >= 8 && text.contains(' ') || text.chars().count() >= 20)
                && text.chars().all(|letter| !matches!(letter, '"' | '\\' | '\n'));
            if is_telling && left.contains(text) && !before.contains(text) && !earlier.contains(text) {
                return Err(format!("what is behind the stop went out: {text:?}"));
            }
        }
        Ok(())
    }
}

/// A stop in front of each chunk of an answer that is not streamed.
pub(crate) fn bodies_stopped(protocol: Protocol) {
    let mut report = Report::default();
    for source in bodies(protocol) {
        let chunks = body_chunks(&source);
        for (position, chunk) in chunks.iter().enumerate() {
            let what = format!("{}, stopped at chunk {position} ({} {:?})", source.name, chunk.kind, chunk.text);
            let ran = run_body(&source, vec![rung(StopsAt(chunk.seq))]);
            report.check(&what, check_body(protocol, &chunks[..position], &chunks[position..], &ran));
        }
    }
    report.close();
}

fn check_body(protocol: Protocol, before: &[Owned], behind: &[Owned], ran: &Ran) -> Result<(), String> {
    let told = |failure: &str| format!("{failure}: {}", shown(&ran.bytes));
    let json: Value = serde_json::from_slice(&ran.bytes).map_err(|error| told(&error.to_string()))?;
    if ran.outcome != Some(Outcome::Stopped) || json.pointer("/seam/stop").is_none() {
        return Err(told("it does not say that it was stopped"));
    }
    checker::body_stopped(protocol, &json, &finishes(before)).map_err(|failure| told(&failure))?;
    // Escapes are spelt in more ways than one, so that the strings themselves are looked at.
    let mut strings = String::new();
    let mut left = json;
    oracle::upper(&mut left, |text| {
        strings.push_str(text);
        strings.push('\n');
        text.to_owned()
    });
    let is_there = |chunk: &&Owned| !chunk.text.is_empty() && !chunk.text.starts_with('{') && is_text(chunk.kind);
    if let Some(kept) = before.iter().filter(is_there).find(|chunk| !strings.contains(&chunk.text)) {
        return Err(told(&format!("{:?} in front of the stop is gone", kept.text)));
    }
    match behind.iter().filter(is_there).find(|chunk| strings.contains(&chunk.text)) {
        Some(chunk) => Err(told(&format!("{:?} behind the stop went out", chunk.text))),
        None => Ok(()),
    }
}

/// The reasons that the provider gave.
fn finishes(chunks: &[Owned]) -> Vec<&str> {
    let finishes = chunks.iter().filter(|chunk| chunk.kind == ChunkKind::Finish && !chunk.text.is_empty());
    finishes.map(|chunk| chunk.text.as_str()).collect()
}

type Texts = BTreeMap<(u64, &'static str), String>;

fn different_texts(expected: &Texts, told: &Texts) -> String {
    let lanes = expected.keys().chain(told.keys());
    let differs = lanes.into_iter().find(|lane| expected.get(*lane) != told.get(*lane));
    differs
        .map_or_else(String::new, |lane| format!("{lane:?} as {:?} and not {:?}", told.get(lane), expected.get(lane)))
}

/// The stream ends, breaks or is shut down behind each frame in turn.
pub(crate) fn broken_off(protocol: Protocol, end: End) {
    let mut report = Report::default();
    for source in streams(protocol) {
        let all = source.frames();
        let came = checker::read(protocol, &all);
        for count in cuts::sample(&source.name, all.len() + 1, positions(&source)) {
            let length = count.checked_sub(1).map_or(0, |last| all[last].range.end);
            if end != End::Finish && count > 0 && is_open(&source, &all[count - 1]) {
                continue;
            }
            let ran = run_part(&source, length, &[], Vec::new(), end);
            let behind = count.checked_sub(1).map_or_else(|| "nothing".to_owned(), |last| at(last, all.get(last)));
            let what = format!("{}, over behind {behind}", source.name);
            report.check(&what, check_broken(&source, &all[..count], length, end, &came, &ran));
        }
    }
    report.close();
}

/// Whether a frame has no end of its own: it is delivered only where the stream ends by itself.
fn is_open(source: &Source, frame: &Frame) -> bool {
    let is_tail = is_array(source) && frame.data.is_none();
    !frame.is_whole || (is_tail && source.bytes.last() != Some(&b']'))
}

fn check_broken(
    source: &Source,
    before: &[Frame],
    length: usize,
    end: End,
    came: &Reading,
    ran: &Ran,
) -> Result<(), String> {
    let prefix = &source.bytes[..length];
    let Some(added) = ran.bytes.strip_prefix(prefix) else {
        return Err(format!("what came before is changed: {}", shown(&ran.bytes)));
    };
    let so_far = checker::read(source.protocol, before);
    let standing = so_far.standing;
    let told = |failure: &str| format!("{failure}; {standing:?}, {:?}, then {:?}", ran.outcome, shown(added));
    let is_failure = !added.is_empty() && !is_end_of_array(source, added);
    // Behind the end of an answer another one need not be ended, and may be.
    let is_sequel = so_far.broken.contains_key(checker::ONE_RESPONSE);
    match standing {
        _ if is_sequel => {}
        Standing::Over if is_failure => return Err(told("an answer that was over has more")),
        Standing::Open if !is_failure => return Err(told("an answer that is not over ends without an error")),
        Standing::Complete if is_failure && end == End::Finish => {
            return Err(told("a complete answer ends with an error"));
        }
        _ => {}
    }
    if !is_failure {
        return Ok(());
    }
    let left = frames::read(source.framing, &ran.bytes);
    let reading = checker::read(source.protocol, &left);
    reading.breaks_no_more_than(came).map_err(|failure| told(&failure))?;
    if reading.standing != Standing::Failed {
        return Err(told("no error is told"));
    }
    let wanted = match end {
        End::Finish => "broke off",
        End::Broken | End::Shutdown => "as the matrix says",
    };
    let is_told = reading.errors.iter().any(|error| error.to_string().contains(wanted));
    let failed_before = standing == Standing::Failed;
    if is_told || failed_before { Ok(()) } else { Err(told("the error does not say what happened")) }
}

/// Whether it only closes the array.
fn is_end_of_array(source: &Source, added: &[u8]) -> bool {
    is_array(source) && added.trim_ascii() == b"]"
}
