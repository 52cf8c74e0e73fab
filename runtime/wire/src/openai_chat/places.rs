//! Where a tool call and `reasoning_details` say what: to read it, and to write it again.

use super::Slot;
use super::names::{call, part};
use super::says::says_anything;
use crate::chunk::Decoded;
use crate::fields::Fields;
use crate::json::{self, Kind, Span};

/// Where a call says what.
pub(super) struct CallPlaces {
    /// The call's own members.
    pub(super) fields: Fields<7>,
    /// The object that names the function, if it is not the call itself.
    pub(super) function: Option<(Span, Fields<7>)>,
    /// Every value of its arguments that says anything. The first counts; clients may read another.
    pub(super) arguments: Vec<Span>,
}

/// Reads a call: its function is the first of `function` and `custom` that says anything.
pub(super) fn read_call_places(text: &str, element: Span, slot: Slot, decoded: &mut Decoded) -> CallPlaces {
    let fields = Fields::<7>::within(text, element, call::slot, decoded);
    let mut objects = Vec::new();
    for name in [call::FUNCTION, call::CUSTOM] {
        let object = fields.of_kind(name, text, Kind::Object).filter(|_| slot == Slot::ToolCall);
        if let Some(object) = object {
            objects.push((object, Fields::<7>::within(text, object, call::slot, decoded)));
        }
    }
    let places = objects.iter().map(|(_, object)| object).chain([&fields]);
    let arguments = places
        .flat_map(|place| [place.value(call::ARGUMENTS), place.value(call::INPUT)])
        .flatten()
        .filter(|value| says_anything(text, *value))
        .collect();
    let said = objects.iter().position(|(object, _)| says_anything(text, *object));
    let function = said.or((!objects.is_empty()).then_some(0)).map(|position| objects.swap_remove(position));
    CallPlaces { fields, function, arguments }
}

/// A text in `reasoning_details`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    pub(super) text: Span,
    /// The provider takes it back only as it was, and says so by a signature or a format that has one.
    pub(super) signed: bool,
}

/// The texts in `reasoning_details`, in order. A summary is never signed, and what is encrypted is no text.
pub(super) fn read_details(text: &str, details: Span, decoded: &mut Decoded) -> Vec<Detail> {
    let mut texts = Vec::new();
    for element in json::elements_of(text, details) {
        let fields = Fields::<7>::within(text, element, part::slot, decoded);
        let says = |slot, start| fields.text(slot, text).is_some_and(|span| span.of_str(text).starts_with(start));
        let signed = says(part::SIGNATURE, "\"") || says(part::FORMAT, "\"anthropic");
        texts.extend(fields.text(part::TEXT, text).map(|text| Detail { text, signed }));
        texts.extend(fields.text(part::SUMMARY, text).map(|text| Detail { text, signed: false }));
    }
    texts
}
