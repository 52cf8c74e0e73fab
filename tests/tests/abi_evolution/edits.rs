//! What is changed in each copy of `seam-plugin-api`: exact texts and what takes their place.

/// A file below the copy, a text that occurs in it once, and the text in its place.
pub(crate) type Edit = (&'static str, &'static str, String);

/// A copy of the crate.
pub(crate) struct Copy {
    pub(crate) name: &'static str,
    pub(crate) edits: Vec<Edit>,
}

/// Every copy that plugins are built against.
pub(crate) fn copies() -> Vec<Copy> {
    let copy =
        |name, version: &str, edits: Vec<Edit>| Copy { name, edits: [vec![of_version(version)], edits].concat() };
    vec![
        copy("newer", "1.1.0", extended("greeting", "farewell", 7)),
        copy("fork", "1.2.0", extended("weather", "harvest", 70)),
        copy("wide-chunk", "1.0.0+chunk", [wide_chunk(), vec![chunk_of_56_bytes()]].concat()),
        copy("wide-reply", "1.0.0+reply", wide_reply()),
        copy("wide-module", "1.3.0", wide_module()),
        copy("abi-two", "2.0.0", abi_two()),
        copy("zero", "0.9.0", Vec::new()),
    ]
}

/// A copy that does not compile.
pub(crate) fn careless() -> Copy {
    Copy { name: "careless", edits: wide_chunk() }
}

fn of_version(version: &str) -> Edit {
    ("Cargo.toml", "\nversion = \"1.0.0\"\n", format!("\nversion = \"{version}\"\n"))
}

/// One more service of the host and one more slot of plugins, both by look-up: the way in which v1 grows. Each is a table
/// of one function that answers with a number which depends on `number`.
fn extended(service: &str, slot: &str, number: u64) -> Vec<Edit> {
    let table = format!(
        "/// A later table.\n#[repr(C)]\npub(crate) struct Later {{ pub(crate) ask: extern \"C\" fn(u64) -> u64 }}\n\n\
         extern \"C\" fn answer(asked: u64) -> u64 {{ asked + {number} }}\n\n\
         pub(crate) static LATER: Later = Later {{ ask: answer }};\n\n\
         impl Host {{\n    /// Asks the later service.\n    pub fn {service}(&self, asked: u64) -> Option<u64> {{\n        \
         let later = self.0.find(\"{service}\", 1).cast::<Later>();\n        \
         // SAFETY: under this name and version there is such a table or nothing.\n        \
         unsafe {{ later.as_ref() }}.map(|later| (later.ask)(asked))\n    }}\n}}\n\n"
    );
    let found = |name: &str| {
        format!(
            "if (name, version) == (\"{name}\", 1) {{ return std::ptr::from_ref(&{LATER}).cast(); }}\n",
            LATER = LATER
        )
    };
    let ask_slot = format!(
        "    /// Asks the later slot.\n    fn {slot}(&self) -> Option<u64> {{\n        \
         // SAFETY: a look-up takes nothing but its arguments.\n        \
         let later = unsafe {{ (self.module.find())(\"{slot}\".into(), 1) }}.cast::<super::services::Later>();\n        \
         // SAFETY: under this name and version there is such a table or nothing.\n        \
         unsafe {{ later.as_ref() }}.map(|later| (later.ask)(4))\n    }}\n\n"
    );
    let (service_anchor, slot_anchor) =
        ("/// The host's services of v1.\n", "    /// A later slot of the plugin by name and version, if it has it.\n");
    let host_find = "        let _ = (name, version);\n        std::ptr::null()\n";
    let plugin_find = "unsafe extern \"C\" fn find(_name: RStr<'_>, _version: u32) -> *const () {\n";
    let described = "        Ok(description)\n";
    vec![
        ("src/abi/services.rs", service_anchor, format!("{table}{service_anchor}")),
        ("src/abi/services.rs", host_find, format!("{}        std::ptr::null()\n", found(service))),
        (
            "src/abi/module.rs",
            plugin_find,
            format!(
                "unsafe extern \"C\" fn find(name: RStr<'_>, version: u32) -> *const () {{\n    let name = name.as_str();\n    {}",
                found(slot)
            ),
        ),
        ("src/abi/host_side.rs", slot_anchor, format!("{ask_slot}{slot_anchor}")),
        (
            "src/abi/host_side.rs",
            described,
            format!("        description.description = format!(\"{slot} {{:?}}\", self.{slot}());\n{described}"),
        ),
    ]
}

const LATER: &str = "crate::abi::services::LATER";

fn wide_chunk() -> Vec<Edit> {
    vec![
        ("src/chunk.rs", "    kind: u8,\n", "    kind: u8,\n    language: u64,\n".to_owned()),
        (
            "src/chunk.rs",
            "kind: kind.code(), text: text.into()",
            "kind: kind.code(), language: 0, text: text.into()".to_owned(),
        ),
    ]
}

fn chunk_of_56_bytes() -> Edit {
    ("src/abi/layout.rs", "size_of::<Chunk<'_>>() == 48", "size_of::<Chunk<'_>>() == 56".to_owned())
}

fn wide_reply() -> Vec<Edit> {
    let edit = |old: &'static str, new: &str| ("src/abi/raw.rs", old, new.to_owned());
    vec![
        edit(
            "    pub(crate) strip_accumulated: u64,\n",
            "    pub(crate) strip_accumulated: u64,\n    pub(crate) confidence: u64,\n",
        ),
        edit("        strip_accumulated: 0,\n", "        strip_accumulated: 0,\n        confidence: 0,\n"),
        ("src/abi/layout.rs", "size_of::<Reply>() == 120", "size_of::<Reply>() == 128".to_owned()),
    ]
}

/// What abi_stable's prefix types are made for, and what ABI v1 does not do: see the ABI's contract.
fn wide_module() -> Vec<Edit> {
    let find = "    pub(crate) find: unsafe extern \"C\" fn(name: RStr<'_>, version: u32) -> *const (),\n";
    vec![
        ("src/abi/module.rs", find, format!("{find}    pub(crate) extra: u64,\n")),
        (
            "src/abi/module.rs",
            "configure: configure::<P>, find }",
            "configure: configure::<P>, find, extra: 0 }".to_owned(),
        ),
    ]
}

fn abi_two() -> Vec<Edit> {
    vec![
        ("src/abi/mod.rs", "pub const ABI_VERSION: u32 = 1;", "pub const ABI_VERSION: u32 = 2;".to_owned()),
        ("src/abi/manifest.rs", "\"abi=1\\napi=\"", "\"abi=2\\napi=\"".to_owned()),
        ("src/abi/manifest.rs", "super::ABI_VERSION == 1", "super::ABI_VERSION == 2".to_owned()),
    ]
}
