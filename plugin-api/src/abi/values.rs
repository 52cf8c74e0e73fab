//! Look-up of values by name: how contexts can say more later without a new ABI.

use std::marker::PhantomData;

use abi_stable::StableAbi;
use abi_stable::std_types::RStr;

use super::fault::believed;
use crate::context::Value;

/// Whoever can answer look-ups by name.
pub trait Values {
    /// The value of this name, or `None`.
    fn value(&self, name: &str) -> Option<Value<'_>>;
}

/// A borrowed source of named values.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct ValueSource<'a> {
    source: *const (),
    find: unsafe extern "C" fn(source: *const (), name: RStr<'_>, found: &mut Found),
    lifetime: PhantomData<&'a ()>,
}

/// Where a source puts its answer. The text borrows from the source.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Found {
    tag: u8,
    number: u64,
    start: *const u8,
    length: usize,
}

const ABSENT: u8 = 0;
const TEXT: u8 = 1;
const NUMBER: u8 = 2;
const JSON: u8 = 3;

impl Found {
    const ABSENT: Self = Self { tag: ABSENT, number: 0, start: std::ptr::null(), length: 0 };

    fn of(value: Option<Value<'_>>) -> Self {
        let text = |tag, text: &str| Self { tag, number: 0, start: text.as_ptr(), length: text.len() };
        match value {
            None => Self::ABSENT,
            Some(Value::Number(number)) => Self { tag: NUMBER, number, ..Self::ABSENT },
            Some(Value::Text(value)) => text(TEXT, value),
            Some(Value::Json(value)) => text(JSON, value),
        }
    }
}

impl<'a> ValueSource<'a> {
    /// A source that answers from `values`.
    #[must_use]
    #[inline]
    pub fn of<V: Values>(values: &'a V) -> Self {
        unsafe extern "C" fn find<V: Values>(source: *const (), name: RStr<'_>, found: &mut Found) {
            // SAFETY: `of` put a `&V` there that lives as long as the source.
            let values = unsafe { &*source.cast::<V>() };
            *found = Found::of(values.value(&believed(name)));
        }
        Self { source: std::ptr::from_ref(values).cast(), find: find::<V>, lifetime: PhantomData }
    }

    pub(crate) fn find(&self, name: &str) -> Option<Value<'a>> {
        let mut found = Found::ABSENT;
        // SAFETY: `source` and `find` were put together by `of`, and the source is alive for 'a.
        unsafe { (self.find)(self.source, name.into(), &mut found) };
        if found.tag == NUMBER {
            return Some(Value::Number(found.number));
        }
        if found.start.is_null() {
            return None;
        }
        // SAFETY: the host's side answers with a `&str` that borrows from the source, which is alive for 'a.
        let text = unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(found.start, found.length)) };
        match found.tag {
            TEXT => Some(Value::Text(text)),
            JSON => Some(Value::Json(text)),
            _ => None,
        }
    }
}
