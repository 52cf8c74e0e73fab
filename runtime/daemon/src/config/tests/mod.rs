//! The configuration as a whole: what a good file means, what a person reads about a bad one.

mod example;
mod meaning;
mod messages;
mod mutations;
mod places;

use std::path::Path;

use super::{Config, Loaded, Report};

/// A provider and a route, so that a test is about what it adds.
const REST: &str = r#"
[[provider]]
name = "openai"
family = "openai"
base_url = "https://api.openai.com/v1"

[[route]]
path = "/v1/chat/completions"
provider = "openai"
"#;

/// Reads `text` as if it were a file in this package's folder, where `src` is a folder and `Cargo.toml` a file.
fn load(text: &str) -> Result<Loaded, Report> {
    super::parse(&Path::new(env!("CARGO_MANIFEST_DIR")).join("seamd.toml"), text.as_bytes())
}

fn config(text: &str) -> Config {
    load(text).unwrap_or_else(|report| panic!("{report}")).config
}

/// Reads `text` as if it were a file in a folder that does not exist, for messages that name it.
fn faults(text: &str) -> Report {
    super::parse(Path::new("/etc/seamd/seamd.toml"), text.as_bytes()).unwrap_err()
}
