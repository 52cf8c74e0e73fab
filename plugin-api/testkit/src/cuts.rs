//! Where a text can be cut into chunks.

/// How many random cuts are made of a text, beside the systematic ones.
const RANDOM_CUTS: u64 = 64;

/// A text in pieces, in every way that is tried: whole, each character alone, cut in two at every place (also in front of
/// the first and behind the last character, which makes an empty piece), and 64 times at random places. The same text is
/// always cut in the same ways.
pub(crate) fn cuts(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let in_two = places.clone().into_iter().map(|at| vec![&text[..at], &text[at..]]);
    let single = text.char_indices().map(|(at, character)| &text[at..at + character.len_utf8()]).collect();
    let random = (0..RANDOM_CUTS).map(move |seed| at_random(text, &places, seed));
    [vec![text], single].into_iter().chain(in_two).chain(random)
}

/// The text cut at some of its places: from hardly any to most of them, as the seed says.
fn at_random<'a>(text: &'a str, places: &[usize], seed: u64) -> Vec<&'a str> {
    let one_in = 2 + seed % 8;
    let mut state = seed;
    let mut pieces = Vec::new();
    let mut from = 0;
    for &at in places {
        if next(&mut state).is_multiple_of(one_in) {
            pieces.push(&text[from..at]);
            from = at;
        }
    }
    pieces.push(&text[from..]);
    pieces
}

/// SplitMix64: small, and the same everywhere.
const fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_keeps_the_text_whole() {
        for text in ["", "a", "aé漢🙂", "a longer text, to be cut at random"] {
            let all: Vec<Vec<&str>> = cuts(text).collect();
            assert!(all.iter().all(|pieces| pieces.concat() == text));
            let characters = text.chars().count();
            assert_eq!(all.len() as u64, 2 + characters as u64 + 1 + RANDOM_CUTS);
            assert!(all.iter().any(|pieces| pieces.len() == characters));
        }
    }

    #[test]
    fn random_cuts_differ_and_repeat() {
        let text = "a longer text, to be cut at random";
        let all: Vec<Vec<&str>> = cuts(text).collect();
        let distinct: std::collections::BTreeSet<&Vec<&str>> = all.iter().collect();
        assert!(distinct.len() > 90, "{} of {} are distinct", distinct.len(), all.len());
        assert_eq!(all, cuts(text).collect::<Vec<_>>());
    }
}
