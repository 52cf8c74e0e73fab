//! The layout of everything that crosses, as text and as a comparison.
//!
//! ```text
//!   TypeLayout of the root module ── shapes() ──► one Shape per type that can be reached, the innermost first
//!                                                   ├─ layout_report(): beside abi-v1.layout, in a test
//!                                                   └─ difference(): ours beside a plugin's, in one line
//! ```

use std::fmt::{self, Display, Formatter};

use abi_stable::StableAbi;
use abi_stable::library::{LibHeader, LibraryError};
use abi_stable::std_types::{RBoxError, UTypeId};
use abi_stable::type_layout::{TLField, TLFunction, TypeLayout};

use super::module::PluginModuleRef;
use super::raw::{RawBody, RawEvent, RawReleased, Reply};
use super::{API_VERSION, MANIFEST_LENGTH, MANIFEST_SYMBOL, code};
use crate::chunk::{Chunk, ChunkKind};
use crate::context::{CallClass, Context, FactoryContext, InvocationResult, Outcome};
use crate::host::{Host, Level};

/// One type that crosses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    name: String,
    size: usize,
    alignment: usize,
    representation: String,
    fields: Vec<FieldShape>,
}

/// One field of such a type.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldShape {
    offset: usize,
    name: String,
    shape: String,
}

/// The layout of everything that crosses, as the file `abi-v1.layout` records it: each type with its size and alignment
/// in bytes, its fields with their offsets and the signatures of functions; then the codes. Nothing in it depends on the
/// compiler, the machine's paths or the crate's version.
#[must_use]
pub fn layout_report() -> String {
    let mut report = String::new();
    for shape in shapes(<PluginModuleRef as StableAbi>::LAYOUT) {
        report.push_str(&format!("{shape}\n"));
    }
    report.push_str(&codes_report());
    report
}

/// The numbers that cross in a byte, whose meaning no layout knows.
fn codes_report() -> String {
    fn list<N: Display>(title: &str, codes: impl IntoIterator<Item = (u8, N)>) -> String {
        let codes: Vec<String> = codes.into_iter().map(|(code, name)| format!("{code:>5} {name}\n")).collect();
        format!("codes of {title}\n{}\n", codes.concat())
    }
    let answers = [
        (code::CONTINUE, "continue"),
        (code::AMEND, "amend"),
        (code::EMIT, "emit"),
        (code::STOP, "stop"),
        (code::BUFFER, "buffer"),
        (code::RELEASE, "release"),
        (code::REFUSED, "refused"),
        (code::FAULT, "fault"),
    ];
    [
        list("answers", answers),
        list("chunk kinds", ChunkKind::ALL.map(|kind| (kind.code(), kind.as_str()))),
        list("call classes", CallClass::ALL.map(|class| (class.code(), class.as_str()))),
        list("outcomes", Outcome::ALL.map(|outcome| (outcome.code(), outcome.as_str()))),
        list("levels", Level::ALL.map(|level| (level.code(), format!("{level:?}")))),
        format!("manifest\n    {MANIFEST_LENGTH} bytes at {MANIFEST_SYMBOL}\n"),
    ]
    .concat()
}

/// Every type that is reached from a layout, each once, those that others are made of before them.
fn shapes(root: &'static TypeLayout) -> Vec<Shape> {
    let (mut found, mut visited) = (Vec::new(), Vec::new());
    visit(root, &mut visited, &mut found);
    found
}

fn visit(layout: &'static TypeLayout, visited: &mut Vec<UTypeId>, found: &mut Vec<Shape>) {
    if visited.contains(&layout.get_utypeid()) {
        return;
    }
    visited.push(layout.get_utypeid());
    for inner in layout.shared_vars().type_layouts() {
        visit(inner(), visited, found);
    }
    // Numbers, references and pointers say everything in the fields that have them.
    if let Some(fields) = layout.get_fields() {
        found.push(Shape {
            name: type_name(layout),
            size: layout.size(),
            alignment: layout.alignment(),
            representation: format!("{:?}", layout.repr_attr()),
            fields: field_shapes(fields.iter()),
        });
    }
}

/// Where `repr(C)` puts fields: each behind the one before, at the next multiple of its alignment.
fn field_shapes(fields: impl Iterator<Item = TLField>) -> Vec<FieldShape> {
    let mut end: usize = 0;
    fields
        .map(|field| {
            let offset = end.next_multiple_of(field.layout().alignment());
            end = offset + field.layout().size();
            FieldShape { offset, name: field.name().to_owned(), shape: field_type(&field) }
        })
        .collect()
}

fn field_type(field: &TLField) -> String {
    match field.function_range().iter().next() {
        Some(function) => signature(&function),
        None => type_name(field.layout()),
    }
}

/// A type as it is written in Rust. What a list is of stands in its marker alone.
fn type_name(layout: &'static TypeLayout) -> String {
    let written = |layout: &TypeLayout| {
        let words = layout.full_type().to_string();
        words.split_whitespace().collect::<Vec<_>>().join(" ").replace(" >", ">")
    };
    let name = written(layout);
    let marker = layout.get_fields().and_then(|fields| fields.iter().find(|field| field.name() == "_marker"));
    match marker.map(|marker| written(marker.layout()).replace("PhantomData", "")) {
        Some(item) => name.replace('>', &format!(", {}", item.trim_start_matches("<&'a "))),
        None => name,
    }
}

fn signature(function: &TLFunction) -> String {
    let names = function.param_names.as_str().split([',', ';']);
    let parameters: Vec<String> = names
        .zip(function.param_type_layouts.iter())
        .map(|(name, layout)| format!("{name}: {}", type_name(layout())))
        .collect();
    let unsafety = if function.fn_qualifs.is_unsafe() { "unsafe " } else { "" };
    let result = function.return_type_layout().map_or(String::new(), |layout| format!(" -> {}", type_name(layout())));
    format!("{unsafety}extern \"C\" fn({}){result}", parameters.join(", "))
}

impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} bytes, aligned to {}, {}", self.name, self.size, self.alignment, self.representation)?;
        self.fields.iter().try_for_each(|field| writeln!(f, "{:>5} {field}", field.offset))
    }
}

impl Display for FieldShape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.shape)
    }
}

/// Refuses a library whose types are not exactly those of ABI v1, in one line: the type, what differs, both versions.
///
/// `abi_stable` checks more, but lets a module with further fields pass, and then holds the next library to them that has
/// others; what is refused here never gets there. Its own report has many pages.
pub(super) fn check_frozen(header: &'static LibHeader) -> Result<(), LibraryError> {
    let Some(theirs) = header.layout() else { return Ok(()) };
    match difference(&shapes(<PluginModuleRef as StableAbi>::LAYOUT), &shapes(theirs)) {
        None => Ok(()),
        Some(difference) => Err(LibraryError::AbiInstability(RBoxError::new(LayoutError(format!(
            "{difference}; it was built with seam-plugin-api {}, this seamd with {API_VERSION}",
            header.version_strings().version
        ))))),
    }
}

/// A difference of layouts, in one line.
#[derive(Debug)]
struct LayoutError(String);

impl Display for LayoutError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LayoutError {}

/// The first difference between two sets of types: the innermost one, which is the cause of the others.
fn difference(ours: &[Shape], theirs: &[Shape]) -> Option<String> {
    ours.iter().filter(|own| !theirs.contains(own)).find_map(|own| {
        match theirs.iter().find(|their| their.name == own.name) {
            None => Some(format!("the type `{}` is not in it", own.name)),
            Some(their) => difference_of_fields(own, their).or_else(|| difference_of_size(own, their)),
        }
    })
}

fn difference_of_fields(ours: &Shape, theirs: &Shape) -> Option<String> {
    let name = &ours.name;
    let count = ours.fields.len().max(theirs.fields.len());
    (0..count).find_map(|index| match (ours.fields.get(index), theirs.fields.get(index)) {
        (Some(own), Some(their)) if own == their => None,
        (Some(own), Some(their)) if own.to_string() == their.to_string() => {
            Some(format!("`{}` of `{name}` lies at {} instead of {}", own.name, their.offset, own.offset))
        }
        (Some(own), Some(their)) => Some(format!("`{name}` has `{their}` where `{own}` belongs")),
        (Some(own), None) => Some(format!("`{name}` lacks `{own}`")),
        (None, Some(their)) => Some(format!("`{name}` has `{their}`, which it must not have")),
        (None, None) => None,
    })
}

fn difference_of_size(ours: &Shape, theirs: &Shape) -> Option<String> {
    let say = |what: &str, own: usize, their: usize| {
        (own != their).then(|| format!("`{}` {what} {their} bytes instead of {own}", ours.name))
    };
    say("has", ours.size, theirs.size).or_else(|| say("is aligned to", ours.alignment, theirs.alignment))
}

/// A change of what crosses most often does not even compile. The whole of it is compared in a test.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<Chunk<'_>>() == 48, "ABI v1 is frozen: Chunk");
    assert!(size_of::<Context<'_>>() == 72, "ABI v1 is frozen: Context");
    assert!(size_of::<FactoryContext<'_>>() == 232, "ABI v1 is frozen: FactoryContext");
    assert!(size_of::<InvocationResult<'_>>() == 136, "ABI v1 is frozen: InvocationResult");
    assert!(size_of::<Host>() == 56, "ABI v1 is frozen: HostServices");
    assert!(size_of::<RawBody>() == 40, "ABI v1 is frozen: RawBody");
    assert!(size_of::<RawEvent>() == 48, "ABI v1 is frozen: RawEvent");
    assert!(size_of::<RawReleased>() == 56, "ABI v1 is frozen: RawReleased");
    assert!(size_of::<Reply>() == 120, "ABI v1 is frozen: Reply");
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The recorded layout of ABI v1.
    const RECORDED: &str = include_str!("../../abi-v1.layout");

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn abi_v1_is_as_it_was_recorded() {
        let report = layout_report();
        if report == RECORDED {
            return;
        }
        let now = std::env::temp_dir().join("abi-v1.layout.now");
        std::fs::write(&now, &report).unwrap();
        let line = |text: &'static str, at| text.lines().nth(at).unwrap_or("nothing");
        let own: &'static str = report.leak();
        let differs = (0..).find(|at| line(own, *at) != line(RECORDED, *at)).unwrap();
        let (own, recorded) = (line(own, differs), line(RECORDED, differs));
        panic!(
            "\nABI v1 is frozen, and its layout has changed.\n  recorded: {recorded}\n  now:      {own}\n\
             Every plugin that was ever built would be refused. Take the change back: what is new is asked for by name \
             and version, through `HostServices::find` or `PluginModule::find`, or is a value of a context. If v1 must \
             be given up, that is ABI 2: raise `ABI_VERSION` and this crate's major version and record abi-v2.layout. \
             The layout as it is now is in {}.",
            now.display()
        );
    }

    #[test]
    fn the_report_reaches_every_type_and_names_nothing_of_this_machine() {
        let report = layout_report();
        for name in [
            "PluginModule",
            "PairSink",
            "FaultSink",
            "RawPlugin",
            "PluginTable",
            "RawRegistration",
            "RawText",
            "RawObserver",
            "ObserverTable",
            "Chunk",
            "Context",
            "Reply",
            "RawBody",
            "RawEvent",
            "RawReleased",
            "FactoryContext",
            "Correlation",
            "InvocationResult",
            "StopView",
            "ValueSource",
            "Found",
            "Host",
            "HostServices",
            "RStr",
            "RSlice",
        ] {
            let described = |line: &str| line.starts_with(name) && line.contains(" bytes, aligned to ");
            assert!(report.lines().any(described), "{name} is in the report");
        }
        assert!(!report.contains('/') && !report.contains("src") && !report.contains(API_VERSION), "{report}");
        assert_eq!(report, layout_report(), "it is the same every time");
    }

    fn shape(name: &str, size: usize, fields: &[(usize, &str, &str)]) -> Shape {
        let field = |(offset, name, shape): &(usize, &str, &str)| FieldShape {
            offset: *offset,
            name: (*name).to_owned(),
            shape: (*shape).to_owned(),
        };
        let fields = fields.iter().map(field).collect();
        Shape { name: name.to_owned(), size, alignment: 8, representation: "C".to_owned(), fields }
    }

    #[test]
    fn a_difference_is_told_of_the_innermost_type() {
        let ours =
            [shape("Inner", 8, &[(0, "a", "u64")]), shape("Outer", 16, &[(0, "inner", "Inner"), (8, "b", "u32")])];
        let told = |theirs: &[Shape]| difference(&ours, theirs).unwrap_or_default();
        let outer = |size, fields| [ours[0].clone(), shape("Outer", size, fields)];
        let lines = [
            told(&ours),
            told(&[shape("Inner", 16, &[(0, "a", "u64"), (8, "z", "u8")]), ours[1].clone()]),
            told(&outer(16, &[(0, "inner", "Inner"), (8, "b", "i32")])),
            told(&outer(8, &[(0, "inner", "Inner")])),
            told(&outer(16, &[(0, "inner", "Inner"), (12, "b", "u32")])),
            told(&outer(24, &[(0, "inner", "Inner"), (8, "b", "u32")])),
            told(&outer(12, &[(0, "inner", "Inner"), (8, "b", "u32")])),
            told(&ours[..1]),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"

        `Inner` has `z: u8`, which it must not have
        `Outer` has `b: i32` where `b: u32` belongs
        `Outer` lacks `b: u32`
        `b` of `Outer` lies at 12 instead of 8
        `Outer` has 24 bytes instead of 16
        `Outer` has 12 bytes instead of 16
        the type `Outer` is not in it
        ");
    }

    /// What lies where the walk says it does.
    #[test]
    fn offsets_are_those_of_the_compiler() {
        let find = |name: &str| {
            shapes(<PluginModuleRef as StableAbi>::LAYOUT).into_iter().find(|own| own.name.starts_with(name))
        };
        let offset = |shape: &Shape, name: &str| shape.fields.iter().find(|own| own.name == name).unwrap().offset;
        let (reply, chunk) = (find("Reply").unwrap(), find("Chunk").unwrap());
        assert_eq!(offset(&reply, "strip_accumulated"), std::mem::offset_of!(Reply, strip_accumulated));
        assert_eq!(offset(&reply, "released_length"), std::mem::offset_of!(Reply, released_length));
        assert_eq!((chunk.size, chunk.alignment), (size_of::<Chunk<'_>>(), align_of::<Chunk<'_>>()));
        let context = find("FactoryContext").unwrap();
        assert_eq!(offset(&context, "seed"), std::mem::offset_of!(FactoryContext<'_>, seed));
    }
}
