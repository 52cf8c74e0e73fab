use proptest::prelude::*;

use super::*;
use crate::marker::Dialect;

fn rules() -> Rules {
    Rules { dialects: Dialect::ALL.to_vec(), names: None, max_marker: 60 }
}

/// What a text that comes in these pieces is made of: texts, and calls in brackets.
fn take_apart<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut group = Group::default();
    pieces.into_iter().for_each(|piece| group.push(piece, &rules()));
    group.end();
    let show = |piece: &Piece| match piece {
        Piece::Text(range) => group.text()[range.clone()].to_owned(),
        Piece::Call(call) => format!("[{} {}]", call.name, call.arguments),
    };
    group.pieces().iter().map(show).collect()
}

#[test]
fn texts_and_calls_keep_their_order() {
    let text = "Let me see: <tool name='f'>{\"a\":1}</tool>\n{0:'g',1:{}}<function=h></function> done";
    assert_eq!(take_apart([text]), ["Let me see: ", "[f {\"a\":1}]", "\n", "[g {}]", "[h {}]", " done"]);
}

#[test]
fn a_call_behind_a_false_start_is_found() {
    assert_eq!(take_apart(["<<tool name='f'/>"]), ["<", "[f {}]"]);
    assert_eq!(take_apart(["<tool {0:'f',1:{}}"]), ["<tool ", "[f {}]"]);
    assert_eq!(take_apart(["<function=f>{}<function=g>{}</function>"]), ["<function=f>{}", "[g {}]"]);
    assert_eq!(
        take_apart(["<tool_call><function=g>{}</function></tool_call>"]),
        ["<tool_call>", "[g {}]", "</tool_call>"]
    );
}

#[test]
fn a_marker_without_an_end_is_text() {
    assert_eq!(take_apart(["a <tool name='f'>{\"a\":"]), ["a <tool name='f'>{\"a\":"]);
    assert_eq!(take_apart(["a <"]), ["a <"]);
}

#[test]
fn plain_text_concerns_nobody() {
    for text in ["", "plain", "a < b and {c}", "<b>bold</b>", "{\"json\": {\"0\": 1}}", "{\n \"a\""] {
        assert!(!concerns(text, &rules()), "{text}");
    }
    for text in ["<", "a {", "x <to", "{ 0", "<tool name='f'/>"] {
        assert!(concerns(text, &rules()), "{text}");
    }
}

proptest! {
    #[test]
    fn the_pieces_do_not_depend_on_where_the_text_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<tool name=\"f\">", "<tool_call>", "<function=g>", "{0:'h',1:", " ", "text", "<", "{", "}", "\"", "{\"a\":1}",
            "{\"name\":\"f\"}", "</tool>", "</tool_call>", "</function>", "é", "<tool name='i'/>",
        ]), 0..14),
        cut in prop::collection::vec(any::<bool>(), 200),
    ) {
        let text = parts.concat();
        let mut pieces = Vec::new();
        let mut from = 0;
        for ((at, _), cut) in text.char_indices().zip(cut) {
            if cut {
                pieces.push(&text[from..at]);
                from = at;
            }
        }
        pieces.push(&text[from..]);
        prop_assert_eq!(take_apart(pieces), take_apart([text.as_str()]));
    }

    #[test]
    fn a_text_concerns_a_group_exactly_if_it_is_more_than_text(
        parts in prop::collection::vec(prop::sample::select(vec!["<tool name='f'", ">", "{}", "</tool>", "x", "<", "{0:"]), 0..8)
    ) {
        let text = parts.concat();
        let mut group = Group::default();
        group.push(&text, &rules());
        prop_assert_eq!(concerns(&text, &rules()), group.is_undecided() || group.calls() > 0);
    }
}
