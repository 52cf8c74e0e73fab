//! Pieces laid onto chunks, one for one: no chunk is made and none goes missing, and whatever their number, no piece
//! does.

use crate::group::{Group, Piece};
use crate::marker::Call;

/// What a held chunk carries from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// A part of the answer's text; may be empty.
    Text(String),
    /// A call.
    Call(Call),
    /// A part of the answer's text with at least one call beside it.
    Carrier(String, Vec<Call>),
}

/// The loads of `chunks` chunks: each piece has its own, and the chunks left over carry no text. `None` if there are
/// more pieces than chunks.
pub(crate) fn lay(group: &Group, chunks: usize) -> Option<Vec<Load>> {
    // Asked anew with every chunk that waits for room: nothing is copied before there is some.
    if group.pieces().len() > chunks {
        return None;
    }
    place(loads(group), chunks)
}

/// As [`lay`], where no further chunk will come. If there are too many pieces, texts are joined at the place of the
/// first; white space that is the only text beside the calls is left out; and if that is not enough, the last chunk
/// carries all that is left. `chunks` must not be 0.
pub(crate) fn lay_closely(group: &Group, chunks: usize) -> Vec<Load> {
    let closely = || place(joined(group), chunks).or_else(|| place(calls_alone(group)?, chunks));
    lay(group, chunks).or_else(closely).unwrap_or_else(|| carried(group, chunks))
}

fn loads(group: &Group) -> Vec<Load> {
    group.pieces().iter().map(|piece| load(group, piece)).collect()
}

fn load(group: &Group, piece: &Piece) -> Load {
    match piece {
        Piece::Text(range) => Load::Text(group.text()[range.clone()].to_owned()),
        Piece::Call(call) => Load::Call(call.clone()),
    }
}

fn joined(group: &Group) -> Vec<Load> {
    let mut joined: Vec<Load> = Vec::new();
    for load in loads(group) {
        let first = joined.iter_mut().find_map(|load| if let Load::Text(text) = load { Some(text) } else { None });
        match (first, load) {
            (Some(first), Load::Text(text)) => first.push_str(&text),
            (_, load) => joined.push(load),
        }
    }
    joined
}

/// The calls, if there is nothing else to say.
fn calls_alone(group: &Group) -> Option<Vec<Load>> {
    let mut loads = loads(group);
    let says_something = |load: &Load| matches!(load, Load::Text(text) if !text.trim().is_empty());
    if loads.iter().any(says_something) {
        return None;
    }
    loads.retain(|load| matches!(load, Load::Call(_)));
    Some(loads)
}

/// Each of the first pieces has its own chunk, and the last chunk carries the others.
fn carried(group: &Group, chunks: usize) -> Vec<Load> {
    let pieces = group.pieces();
    let (alone, others) = pieces.split_at(chunks.saturating_sub(1).min(pieces.len()));
    let (mut text, mut calls) = (String::new(), Vec::new());
    for piece in others {
        match piece {
            Piece::Text(range) => text.push_str(&group.text()[range.clone()]),
            Piece::Call(call) => calls.push(call.clone()),
        }
    }
    alone.iter().map(|piece| load(group, piece)).chain([Load::Carrier(text, calls)]).collect()
}

fn place(mut loads: Vec<Load>, chunks: usize) -> Option<Vec<Load>> {
    if loads.len() > chunks {
        return None;
    }
    loads.resize(chunks, Load::Text(String::new()));
    Some(loads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::{Dialect, Rules};

    fn group(text: &str) -> Group {
        let rules = Rules { dialects: Dialect::ALL.to_vec(), names: None, max_marker: 1000 };
        let mut group = Group::default();
        group.push(text, &rules);
        group.end();
        group
    }

    fn show(loads: Vec<Load>) -> Vec<String> {
        let names = |calls: Vec<Call>| calls.into_iter().map(|call| call.name).collect::<Vec<_>>().join("+");
        let show = |load: Load| match load {
            Load::Text(text) => format!("{text:?}"),
            Load::Call(call) => call.name,
            Load::Carrier(text, calls) => format!("{text:?}+{}", names(calls)),
        };
        loads.into_iter().map(show).collect()
    }

    #[test]
    fn each_piece_has_a_chunk_and_the_rest_carries_nothing() {
        let group = group("one <function=f>{}</function> two");
        assert_eq!(show(lay(&group, 5).unwrap()), [r#""one ""#, "f", r#"" two""#, r#""""#, r#""""#]);
        assert_eq!(show(lay(&group, 3).unwrap()), [r#""one ""#, "f", r#"" two""#]);
        assert_eq!(lay(&group, 2), None);
    }

    #[test]
    fn texts_are_joined_before_the_last_chunk_carries_the_rest() {
        let group = group("one\n<function=f>{}</function>\n<function=g>{}</function> two");
        assert_eq!(show(lay_closely(&group, 5)), [r#""one\n""#, "f", r#""\n""#, "g", r#"" two""#]);
        assert_eq!(show(lay_closely(&group, 4)), [r#""one\n\n two""#, "f", "g", r#""""#]);
        assert_eq!(show(lay_closely(&group, 3)), [r#""one\n\n two""#, "f", "g"]);
        assert_eq!(show(lay_closely(&group, 2)), [r#""one\n""#, r#""\n two"+f+g"#]);
        assert_eq!(show(lay_closely(&group, 1)), [r#""one\n\n two"+f+g"#]);
    }

    #[test]
    fn white_space_alone_is_left_out_where_that_makes_room() {
        let group = group("\n<function=f>{}</function>\n<function=g>{}</function>\n");
        assert_eq!(show(lay_closely(&group, 3)), [r#""\n\n\n""#, "f", "g"]);
        assert_eq!(show(lay_closely(&group, 2)), ["f", "g"]);
        assert_eq!(show(lay_closely(&group, 1)), [r#""\n\n\n"+f+g"#]);
    }
}
