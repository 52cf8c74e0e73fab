//! The root module of a plugin, and what makes one of an author's type.

use abi_stable::StableAbi;
use abi_stable::library::{CheckTypeLayout, LibHeader, RootModule, RootModuleResult};
use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::RStr;

use super::guard::{guarded, install_hook};
use super::plugin_side::configure;
use super::raw::{FaultSink, PairSink, RawPlugin};
use super::{ABI_VERSION, code, manifest};
use crate::host::Host;
use crate::plugin::Plugin;

/// The entries of a plugin: everything else is reached through them. Frozen; see the module's contract.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginModuleRef)))]
#[sabi(missing_field(panic))]
pub struct PluginModule {
    pub(crate) abi_version: u32,
    pub(crate) describe: unsafe extern "C" fn(pairs: &PairSink, fault: &FaultSink) -> u8,
    pub(crate) configure: unsafe extern "C" fn(
        config: RStr<'_>,
        host: Host,
        out: &mut RawPlugin,
        faults: &PairSink,
        fault: &FaultSink,
    ) -> u8,
    /// A later slot of the plugin by name and version; null: not here.
    #[sabi(last_prefix_field)]
    pub(crate) find: unsafe extern "C" fn(name: RStr<'_>, version: u32) -> *const (),
}

impl RootModule for PluginModuleRef {
    abi_stable::declare_root_module_statics! {PluginModuleRef}
    const BASE_NAME: &'static str = "seam_plugin";
    const NAME: &'static str = "seam_plugin";
    const VERSION_STRINGS: VersionStrings = abi_stable::package_version_strings!();
}

/// An author's plugin with what its package says of it. Implemented by [`export_plugin!`](crate::export_plugin) alone.
pub trait Exported: Plugin {
    /// The plugin's own name.
    const NAME: &'static str;
    /// The package's version.
    const VERSION: &'static str;
    /// The package's description.
    const DESCRIPTION: &'static str;
    /// The package's licence.
    const LICENCE: &'static str;

    /// Whether the plugin runs from a library file of its own.
    #[must_use]
    fn own_file() -> bool {
        OWN_FILE.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Set by the loader entry of a library file; a plugin that is linked into a test never passes there.
static OWN_FILE: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// What the loader entry of a library answers with.
#[must_use]
pub fn load<P: Exported>() -> PluginModuleRef {
    OWN_FILE.store(true, std::sync::atomic::Ordering::Relaxed);
    module::<P>()
}

pub(super) fn module<P: Exported>() -> PluginModuleRef {
    PluginModule { abi_version: ABI_VERSION, describe: describe::<P>, configure: configure::<P>, find }
        .leak_into_prefix()
}

/// The header that a library exports.
#[must_use]
pub const fn library_header(constructor: extern "C" fn() -> RootModuleResult) -> LibHeader {
    // SAFETY: the expansion of `export_plugin!`, the only caller, passes a constructor that answers with what `load`
    // made: a `PluginModuleRef`.
    unsafe { LibHeader::from_constructor::<PluginModuleRef>(constructor, CheckTypeLayout::Yes) }
}

unsafe extern "C" fn find(_name: RStr<'_>, _version: u32) -> *const () {
    std::ptr::null()
}

unsafe extern "C" fn describe<P: Exported>(pairs: &PairSink, fault: &FaultSink) -> u8 {
    install_hook(None, P::own_file());
    let schema = match guarded(|| schemars::schema_for!(P::Config).as_value().to_string()) {
        Ok(schema) => schema,
        Err(caught) => {
            caught.report(fault);
            return code::FAULT;
        }
    };
    let panic_strategy = if cfg!(panic = "unwind") { "unwind" } else { "abort" };
    for (name, value) in [
        ("name", P::NAME),
        ("version", P::VERSION),
        ("description", P::DESCRIPTION),
        ("licence", P::LICENCE),
        ("built_with", manifest::BUILT_WITH),
        ("built_for", manifest::BUILT_FOR),
        ("panic", panic_strategy),
        ("api", super::API_VERSION),
        ("config_schema", &schema),
    ] {
        // SAFETY: the host put `into` and `put` together and both are valid during this call.
        unsafe { (pairs.put)(pairs.into, name.into(), value.into()) };
    }
    code::CONTINUE
}
