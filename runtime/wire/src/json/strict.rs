//! Loose documents made strict, for observers whose readers take nothing else.

use super::{Kind, Malformed, STRICT_DEPTH, Scanner, document_span};
use crate::splice::Patches;

/// The value of a loose document as every reader takes it: `null` stands for each number that is none in strict JSON,
/// and for what nests too deeply.
pub(crate) fn strict(text: &str) -> String {
    let mut patches = Patches::default();
    // The document was scanned before, as in `members_of`.
    let _ = find_loose(&mut Scanner::within(text, document_span(text)), &mut patches);
    patches.apply(text)
}

/// Takes one value and replaces what is loose in it.
fn find_loose(scanner: &mut Scanner<'_>, patches: &mut Patches) -> Result<(), Malformed> {
    let too_deep = scanner.depth == STRICT_DEPTH;
    match scanner.kind()? {
        Kind::Object if !too_deep => scanner.members(|scanner, _| find_loose(scanner, patches)).map(drop),
        Kind::Array if !too_deep => scanner.elements(|scanner| find_loose(scanner, patches)).map(drop),
        kind => {
            let value = scanner.skip()?;
            let is_no_number = kind == Kind::Number && value.of_str(scanner.text).ends_with(['N', 'y']);
            if is_no_number || matches!(kind, Kind::Object | Kind::Array) {
                patches.replace(value, "null");
            }
            Ok(())
        }
    }
}
