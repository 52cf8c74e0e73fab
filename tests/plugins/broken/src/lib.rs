//! Breaks the contract wherever its table says: `fault` is what, `at` is at which chunk, counted from 1 as the context
//! counts. Every other chunk is answered `continue`.
//!
//! - `config.rs`: the table, with a line for each fault.
//! - `observer.rs`: what is done wrong while chunks come.
#![forbid(unsafe_code)]
#![expect(clippy::panic, reason = "to panic is what this plugin is for")]

mod config;
mod observer;

use seam_plugin_api::prelude::*;

use config::{Config, Fault};
use observer::Broken;

/// The configured plugin.
struct BrokenPlugin(Config);

impl Plugin for BrokenPlugin {
    type Config = Config;

    fn configure(config: Config, _: Host) -> Result<Self, Vec<ConfigFault>> {
        match config.fault {
            Fault::PanicConfigure => config.panic(),
            Fault::RefuseConfig => {
                Err(vec![ConfigFault::new("fault", "is refused"), ConfigFault::new("at", "is refused")])
            }
            Fault::RefuseSilently => Err(Vec::new()),
            _ => Ok(Self(config)),
        }
    }

    fn registrations(&self) -> Vec<Registration> {
        let config = self.0;
        let id = match config.fault {
            Fault::PanicRegistrations => config.panic(),
            Fault::BadObserverId => "Not An Id",
            _ => "broken",
        };
        vec![Registration::new(When::Any, id, move |_: &FactoryContext<'_>| match config.fault {
            Fault::PanicFactory => config.panic(),
            _ => Broken::new(config),
        })]
    }
}

impl Drop for BrokenPlugin {
    fn drop(&mut self) {
        if matches!(self.0.fault, Fault::PanicPluginDrop | Fault::PanicRegistrations) {
            self.0.panic()
        }
    }
}

seam_plugin_api::export_plugin!(BrokenPlugin, "broken");
