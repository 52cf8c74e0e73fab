//! An inspection as a person reads it.

use std::fmt::{self, Display, Formatter};

use super::Inspection;

/// A table of two columns, one line for each thing.
impl Display for Inspection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: &dyn Display| writeln!(f, "{name:<12}{value}");
        line("file", &self.path.display())?;
        line("plugin", &format_args!("{} {}", self.name, self.version))?;
        line("abi", &format_args!("{} (seam-plugin-api {})", self.abi, self.api))?;
        line("built with", &self.built_with)?;
        line("built for", &format_args!("{} ({})", self.built_for, self.format))?;
        line("size", &format_args!("{} bytes", self.size))?;
        line("sha256", &self.sha256)?;
        line("needs", &self.needs.join(", "))?;
        if let Some(glibc) = &self.glibc {
            line("glibc", &format_args!("{glibc} or newer"))?;
        }
        self.warnings.iter().try_for_each(|warning| line("warning", warning))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inspection_reads_as_a_table() {
        let inspection = Inspection {
            path: "plugins/libredaction.so".into(),
            name: "redaction".to_owned(),
            version: "1.2.0".to_owned(),
            abi: 1,
            api: "1.0.0".to_owned(),
            built_with: "rustc 1.95.0".to_owned(),
            built_for: "x86_64-unknown-linux-gnu".to_owned(),
            format: "ELF",
            size: 671_744,
            sha256: "ab".repeat(32),
            needs: vec!["libgcc_s.so.1".to_owned(), "libc.so.6".to_owned()],
            glibc: Some("2.34".to_owned()),
            warnings: vec!["it is old".to_owned()],
        };
        insta::assert_snapshot!(inspection);
    }
}
