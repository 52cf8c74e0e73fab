//! The first of two plugins that differ in nothing but their name and what they put in front of a text.

mod behaviour;

/// What it puts in front of a text.
const MARK: &str = "first";

seam_plugin_api::export_plugin!(behaviour::Fixture, "first");
