//! Pieces laid onto chunks, one for one: no chunk is made and none goes missing.

use crate::group::{Group, Piece};
use crate::marker::Call;

/// What a held chunk carries from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// A part of the answer's text; may be empty.
    Text(String),
    /// A call.
    Call(Call),
}

/// The loads of `chunks` chunks: each piece has its own, and the chunks left over carry no text. `None` if there are
/// more pieces than chunks.
pub(crate) fn lay(group: &Group, chunks: usize) -> Option<Vec<Load>> {
    // Asked anew with every chunk that waits for room: nothing is copied before there is some.
    if group.pieces().len() > chunks {
        return None;
    }
    place(group.pieces().iter().map(|piece| load(group, piece)).collect(), chunks)
}

/// As [`lay`], where no further chunk will come: if there are too many pieces, first the white space around calls is
/// left out, then texts are joined at the place of the first.
pub(crate) fn lay_closely(group: &Group, chunks: usize) -> Option<Vec<Load>> {
    lay(group, chunks).or_else(|| place(without_space(group), chunks)).or_else(|| place(joined(group), chunks))
}

fn load(group: &Group, piece: &Piece) -> Load {
    match piece {
        Piece::Text(range) => Load::Text(group.text()[range.clone()].to_owned()),
        Piece::Call(call) => Load::Call(call.clone()),
    }
}

fn without_space(group: &Group) -> Vec<Load> {
    let loads = group.pieces().iter().map(|piece| load(group, piece));
    loads.filter(|load| !matches!(load, Load::Text(text) if text.trim().is_empty())).collect()
}

fn joined(group: &Group) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for load in without_space(group) {
        let first = loads.iter_mut().find_map(|load| if let Load::Text(text) = load { Some(text) } else { None });
        match (first, load) {
            (Some(first), Load::Text(text)) => first.push_str(&text),
            (_, load) => loads.push(load),
        }
    }
    loads
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

    fn show(loads: Option<Vec<Load>>) -> Vec<String> {
        let show = |load: Load| match load {
            Load::Text(text) => format!("{text:?}"),
            Load::Call(call) => call.name,
        };
        loads.unwrap_or_default().into_iter().map(show).collect()
    }

    #[test]
    fn each_piece_has_a_chunk_and_the_rest_carries_nothing() {
        let group = group("one <function=f>{}</function> two");
        assert_eq!(show(lay(&group, 5)), [r#""one ""#, "f", r#"" two""#, r#""""#, r#""""#]);
        assert_eq!(show(lay(&group, 3)), [r#""one ""#, "f", r#"" two""#]);
        assert_eq!(lay(&group, 2), None);
    }

    #[test]
    fn white_space_is_left_out_before_texts_are_joined() {
        let group = group("one\n<function=f>{}</function>\n<function=g>{}</function> two");
        assert_eq!(show(lay_closely(&group, 5)), [r#""one\n""#, "f", r#""\n""#, "g", r#"" two""#]);
        assert_eq!(show(lay_closely(&group, 4)), [r#""one\n""#, "f", "g", r#"" two""#]);
        assert_eq!(show(lay_closely(&group, 3)), [r#""one\n two""#, "f", "g"]);
        assert_eq!(lay_closely(&group, 2), None);
    }
}
