//! The command line of the measuring programs: pairs of `--name value`.

use std::collections::BTreeMap;
use std::io;
use std::str::FromStr;

/// What was given, and which names were asked for.
#[derive(Debug)]
pub struct Arguments(BTreeMap<String, String>);

impl Arguments {
    /// Reads the pairs; each name must be one of `known`.
    ///
    /// # Errors
    /// When a name is not known, or has no value.
    pub fn parse(arguments: impl IntoIterator<Item = String>, known: &[&str]) -> io::Result<Self> {
        let mut arguments = arguments.into_iter();
        let mut pairs = BTreeMap::new();
        while let Some(argument) = arguments.next() {
            let name = argument.strip_prefix("--").filter(|name| known.contains(name));
            let Some(name) = name else {
                let known = known.join(" --");
                return Err(invalid(format!("{argument}: not one of --{known}")));
            };
            let value = arguments.next().ok_or_else(|| invalid(format!("{argument}: its value is missing")))?;
            pairs.insert(name.to_owned(), value);
        }
        Ok(Self(pairs))
    }

    /// The value of `name`; nothing when it was not given.
    ///
    /// # Errors
    /// When it is not of the kind wanted.
    pub fn get<T: FromStr>(&self, name: &str) -> io::Result<Option<T>> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| invalid(format!("--{name} {value}: not understood")))
    }

    /// The value of `name`, or `default`.
    ///
    /// # Errors
    /// When it is not of the kind wanted.
    pub fn get_or<T: FromStr>(&self, name: &str, default: T) -> io::Result<T> {
        Ok(self.get(name)?.unwrap_or(default))
    }

    /// The value of `name`, which must be given.
    ///
    /// # Errors
    /// When it is not given or not of the kind wanted.
    pub fn require<T: FromStr>(&self, name: &str) -> io::Result<T> {
        self.get(name)?.ok_or_else(|| invalid(format!("--{name} is missing")))
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> io::Result<Arguments> {
        Arguments::parse(line.split_whitespace().map(str::to_owned), &["streams", "model"])
    }

    #[test]
    fn pairs_are_read_and_faults_are_named() {
        let arguments = parse("--streams 16").unwrap();
        assert_eq!(arguments.require::<usize>("streams").unwrap(), 16);
        assert_eq!(arguments.get_or("model", "fake".to_owned()).unwrap(), "fake");
        for (line, part) in
            [("--strems 1", "--strems: not one of --streams --model"), ("--streams", "its value is missing")]
        {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let error = parse("--streams x").unwrap().require::<usize>("streams").unwrap_err();
        assert!(error.to_string().contains("--streams x"), "{error}");
    }
}
