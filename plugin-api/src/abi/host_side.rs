//! The host's half: safe handles on a library, a configured plugin and an observer. Nothing that a plugin answers is
//! believed before it was checked.

use abi_stable::library::{LibHeader, LibraryError};

use super::answer::{Answer, read_reply};
use super::fault::{Caught, Fault, FaultKind, collect_fault, collect_pairs};
use super::invocation::Invocation;
use super::layout::check_frozen;
use super::module::{Exported, PluginModuleRef, module};
use super::raw::{ObserverTable, PluginTable, RawObserver, RawPlugin, RawRegistration, Reply};
use super::{ABI_VERSION, code};
use crate::chunk::Chunk;
use crate::context::{CallClass, Context, InvocationResult};
use crate::host::Host;
use crate::plugin::{ConfigFault, When};

/// What a plugin says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Its own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub description: String,
    /// Its licence.
    pub licence: String,
    /// The compiler that built it.
    pub built_with: String,
    /// The target that it was built for.
    pub built_for: String,
    /// Its panic strategy.
    pub panic: String,
    /// The version of this crate that it was built with.
    pub api: String,
    /// The JSON Schema of its configuration table.
    pub config_schema: String,
}

/// Why a plugin was not configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigureError {
    /// Its table has faults.
    Refused(Vec<ConfigFault>),
    /// It was at fault itself.
    Fault(Fault),
}

/// One registration of a configured plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationInfo {
    /// For which invocations the observer is made.
    pub when: When,
    /// The observer's id.
    pub observer_id: String,
}

/// A loaded library whose layout was checked.
#[derive(Clone, Copy)]
pub struct PluginLibrary {
    module: PluginModuleRef,
}

impl PluginLibrary {
    /// Checks a library's header: the layout of every type of this ABI, then `abi_stable`'s own checks.
    ///
    /// # Errors
    /// Whatever `abi_stable` finds. A layout that differs is told in one line: the type, what differs, both versions.
    pub fn check(header: &'static LibHeader) -> Result<Self, LibraryError> {
        check_frozen(header)?;
        let module = header.init_root_module::<PluginModuleRef>()?;
        Ok(Self { module })
    }

    /// A plugin that is linked into this program, behind the very same entries.
    #[must_use]
    pub fn linked<P: Exported>() -> Self {
        Self { module: module::<P>() }
    }

    /// The ABI that the library says it speaks.
    ///
    /// # Errors
    /// The version, where it is not [`ABI_VERSION`].
    pub fn speaks_our_abi(&self) -> Result<(), u32> {
        let version = self.module.abi_version();
        if version == ABI_VERSION { Ok(()) } else { Err(version) }
    }

    /// What the plugin says of itself.
    ///
    /// # Errors
    /// A panic of the author's schema.
    pub fn describe(&self) -> Result<Description, Fault> {
        // SAFETY: both sinks are valid during the call.
        let (result, pairs) =
            collect_pairs(|pairs| collect_fault(|fault| unsafe { (self.module.describe())(pairs, fault) }));
        result?;
        let mut description = Description::default();
        for (name, value) in pairs {
            match name.as_str() {
                "name" => description.name = value,
                "version" => description.version = value,
                "description" => description.description = value,
                "licence" => description.licence = value,
                "built_with" => description.built_with = value,
                "built_for" => description.built_for = value,
                "panic" => description.panic = value,
                "api" => description.api = value,
                "config_schema" => description.config_schema = value,
                // A newer plugin says more than this crate knows to ask for.
                _ => {}
            }
        }
        Ok(description)
    }

    /// Configures the plugin with its table as a JSON object.
    ///
    /// # Errors
    /// The faults of the table, or a fault of the plugin.
    pub fn configure(&self, config: &str, host: Host) -> Result<PluginHandle, ConfigureError> {
        let mut raw = RawPlugin::EMPTY;
        let (result, pairs) = collect_pairs(|pairs| {
            // SAFETY: `out` and both sinks are valid during the call.
            collect_fault(|fault| unsafe { (self.module.configure())(config.into(), host, &mut raw, pairs, fault) })
        });
        match result.map_err(ConfigureError::Fault)? {
            code::CONTINUE => PluginHandle::new(raw).map_err(ConfigureError::Fault),
            code::REFUSED => Err(ConfigureError::Refused(refusal(pairs))),
            unknown => Err(ConfigureError::Fault(Fault::malformed(format!("{unknown} is not an answer of configure")))),
        }
    }

    /// A later slot of the plugin by name and version, if it has it.
    #[must_use]
    pub fn has(&self, name: &str, version: u32) -> bool {
        // SAFETY: a look-up takes nothing but its arguments.
        !unsafe { (self.module.find())(name.into(), version) }.is_null()
    }
}

/// The faults of a table, at least one.
fn refusal(pairs: Vec<(String, String)>) -> Vec<ConfigFault> {
    if pairs.is_empty() {
        return vec![ConfigFault::new("", "it is refused, and the plugin does not say why")];
    }
    pairs.into_iter().map(|(path, message)| ConfigFault { path, message }).collect()
}

/// A configured plugin. Dropping it drops the plugin's own value.
pub struct PluginHandle {
    raw: RawPlugin,
    table: &'static PluginTable,
    registrations: Vec<RegistrationInfo>,
}

// SAFETY: what lies behind the pointer is `Send + Sync`: `Plugin` demands it of the plugin's value, `Registration` of its
// factories, and the plugin's side does not compile without. Its entries take it by shared reference, but for `free`,
// which a handle calls once and last.
unsafe impl Send for PluginHandle {}
// SAFETY: as above.
unsafe impl Sync for PluginHandle {}

/// How many registrations a plugin may have: far more than any ladder needs, and an end for a list that has none.
const MOST_REGISTRATIONS: u64 = 1024;

impl PluginHandle {
    fn new(raw: RawPlugin) -> Result<Self, Fault> {
        if raw.plugin.is_null() || raw.table.is_null() || !raw.table.is_aligned() {
            return Err(Fault::malformed("configure handed over no plugin"));
        }
        // SAFETY: not null and aligned; entries lie in a library that is never unmapped.
        let table = unsafe { &*raw.table };
        let mut handle = Self { raw, table, registrations: Vec::new() };
        for index in 0..=MOST_REGISTRATIONS {
            match handle.registration(index)? {
                Some(registration) => handle.registrations.push(registration),
                None => return Ok(handle),
            }
        }
        Err(Fault::new(FaultKind::Violation, format!("more than {MOST_REGISTRATIONS} registrations")))
    }

    fn registration(&self, index: u64) -> Result<Option<RegistrationInfo>, Fault> {
        let mut raw = RawRegistration { observer_id: super::RawText::EMPTY, call_class: 0 };
        // SAFETY: the plugin was handed over by `configure` and is freed only when this handle is dropped.
        if unsafe { (self.table.registration)(self.raw.plugin, index, &mut raw) } != code::CONTINUE {
            return Ok(None);
        }
        let malformed = |what: &str| Fault::malformed(format!("registration {index}: {what}"));
        // SAFETY: the id belongs to the plugin, which this handle keeps; it is copied at once.
        let id = unsafe { raw.observer_id.read() }.ok_or_else(|| malformed("its observer id is not text"))?;
        let when = match raw.call_class {
            u8::MAX => When::Any,
            class => {
                When::CallClass(CallClass::from_code(class).ok_or_else(|| malformed("its call class is unknown"))?)
            }
        };
        Ok(Some(RegistrationInfo { when, observer_id: id.to_owned() }))
    }

    /// The plugin's registrations, in their order.
    #[must_use]
    pub fn registrations(&self) -> &[RegistrationInfo] {
        &self.registrations
    }

    /// Makes an observer of the registration at `index`, with the host's services attributed to it.
    ///
    /// # Errors
    /// A fault of the factory.
    pub fn make_observer(&self, index: usize, invocation: &Invocation, host: Host) -> Result<ObserverHandle, Fault> {
        let mut raw = RawObserver::EMPTY;
        let code = invocation.show(host, |context| {
            // SAFETY: the plugin is kept by this handle; context, `out` and sink are valid during the call.
            collect_fault(|fault| unsafe {
                (self.table.make_observer)(self.raw.plugin, index as u64, context, &mut raw, fault)
            })
        })?;
        if code != code::CONTINUE {
            return Err(Fault::new(FaultKind::Violation, format!("there is no registration {index}")));
        }
        ObserverHandle::new(raw)
    }

    /// Drops the plugin's own value and says what it did about that.
    ///
    /// # Errors
    /// A panic in the plugin's `Drop`.
    pub fn close(self) -> Result<(), Fault> {
        let mut this = std::mem::ManuallyDrop::new(self);
        // What would be dropped with the handle, were its `Drop` to run.
        drop(std::mem::take(&mut this.registrations));
        // SAFETY: `this` is not used again and its `Drop` does not run: the value is freed once.
        unsafe { this.free() }
    }

    /// # Safety
    /// To be called once, and nothing after it.
    unsafe fn free(&self) -> Result<(), Fault> {
        // SAFETY: handed over by `configure`, and freed once by the caller's promise.
        collect_fault(|fault| unsafe { (self.table.free)(self.raw.plugin, fault) }).map(drop)
    }
}

impl Drop for PluginHandle {
    fn drop(&mut self) {
        // SAFETY: `close` prevents this drop, so the value is freed once. Its fault concerns nobody who could be told.
        let _ = unsafe { self.free() };
    }
}

/// One observer. Dropping it drops the observer's own value.
pub struct ObserverHandle {
    raw: RawObserver,
    table: &'static ObserverTable,
    /// Empty between two calls, so that an entry which answers and fills nothing in is not read as its answer before.
    reply: Reply,
    /// What the last call put into its sink: nothing, but for a moment after a fault.
    caught: Caught,
}

// SAFETY: the observer's value is `Send` (`StreamObserver` demands it), what its last answer points to is owned by the same
// instance, and `&mut self` keeps its entries to one thread at a time.
unsafe impl Send for ObserverHandle {}

impl ObserverHandle {
    fn new(raw: RawObserver) -> Result<Self, Fault> {
        if raw.instance.is_null() || raw.table.is_null() || !raw.table.is_aligned() {
            return Err(Fault::malformed("the factory handed over no observer"));
        }
        // SAFETY: not null and aligned; entries lie in a library that is never unmapped.
        Ok(Self { raw, table: unsafe { &*raw.table }, reply: Reply::EMPTY, caught: Caught::NOTHING })
    }

    /// Shows the observer a chunk.
    #[inline(always)]
    pub fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        let sink = self.caught.sink();
        // SAFETY: the instance was handed over by the factory and is freed only when this handle is dropped; `&mut self`
        // makes the call exclusive; everything passed is valid during the call.
        let code = unsafe { (self.table.on_chunk)(self.raw.instance, chunk, context, &mut self.reply, &sink) };
        match code {
            code::CONTINUE => Answer::Continue,
            code::BUFFER => Answer::Buffer,
            code::FAULT => Answer::Fault(std::mem::replace(&mut self.caught, Caught::NOTHING).take()),
            _ => self.answer(code),
        }
    }

    /// What the call that has just returned left in the reply.
    #[cold]
    fn answer(&mut self, code: u8) -> Answer<'_> {
        let reply = std::mem::replace(&mut self.reply, Reply::EMPTY);
        // SAFETY: what a reply points to belongs to the instance until its next call; that needs `&mut self`, which the
        // answer keeps borrowed.
        unsafe { read_reply(code, &reply) }.unwrap_or_else(Answer::Fault)
    }

    /// Tells the observer how the invocation ended.
    ///
    /// # Errors
    /// A panic of the observer.
    pub fn on_end_invocation(&mut self, result: &InvocationResult<'_>) -> Result<(), Fault> {
        // SAFETY: as in `on_chunk`.
        collect_fault(|fault| unsafe { (self.table.on_end_invocation)(self.raw.instance, result, fault) }).map(drop)
    }

    /// Drops the observer's own value and says what it did about that.
    ///
    /// # Errors
    /// A panic in the observer's `Drop`.
    pub fn close(self) -> Result<(), Fault> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not used again and its `Drop` does not run: the value is freed once.
        unsafe { this.free() }
    }

    /// # Safety
    /// To be called once, and nothing after it.
    unsafe fn free(&self) -> Result<(), Fault> {
        // SAFETY: handed over by the factory, and freed once by the caller's promise.
        collect_fault(|fault| unsafe { (self.table.free)(self.raw.instance, fault) }).map(drop)
    }
}

impl Drop for ObserverHandle {
    fn drop(&mut self) {
        // SAFETY: `close` prevents this drop, so the value is freed once. Its fault concerns nobody who could be told.
        let _ = unsafe { self.free() };
    }
}

#[cfg(test)]
mod tests;
