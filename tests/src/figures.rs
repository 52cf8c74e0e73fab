//! What was measured, each value beside the bar it is to keep, in `target/figures.json`.
//!
//! The file is a list of `{name, value, unit, bar, met}`; a figure that is recorded again replaces the old one in
//! its place. Figures never fail a run: a machine that is busy with something else proves nothing.

use serde_json::{Value, json};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// On which side of its bar a value is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The value is to be the bar or less.
    AtMost,
    /// The value is to be the bar or more.
    AtLeast,
}

/// One measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What was measured: a sentence, the same in each run.
    pub name: String,
    /// The value, in `unit`.
    pub value: f64,
    /// The unit of value and bar.
    pub unit: String,
    /// What the value is held against.
    pub bar: f64,
    /// On which side of the bar it is to be.
    pub direction: Direction,
}

impl Figure {
    /// Whether the value keeps its bar. A value that is no number does not.
    #[must_use]
    pub fn met(&self) -> bool {
        match self.direction {
            Direction::AtMost => self.value <= self.bar,
            Direction::AtLeast => self.value >= self.bar,
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "bar": self.bar,
            "met": self.met(),
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.met() { "met   " } else { "MISSED" };
        let side = match self.direction {
            Direction::AtMost => "at most",
            Direction::AtLeast => "at least",
        };
        write!(
            formatter,
            "{mark} {}: {} {unit} ({side} {} {unit})",
            self.name,
            short(self.value),
            short(self.bar),
            unit = self.unit,
        )
    }
}

/// A value as a person reads it: about three significant digits, no zeros behind the point.
#[must_use]
pub fn short(value: f64) -> String {
    let digits = match value.abs() {
        1000.0.. => 0,
        10.0.. => 1,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text,
    }
}

/// Records a value in the figures of this build's target folder and prints it beside its bar.
///
/// # Errors
/// When the file cannot be read or written, or is not a list.
pub fn record(name: &str, value: f64, unit: &str, bar: f64, direction: Direction) -> io::Result<Figure> {
    let figure = Figure { name: name.to_owned(), value, unit: unit.to_owned(), bar, direction };
    record_in(&path()?, &figure)?;
    println!("{figure}");
    Ok(figure)
}

/// Where the figures are: `figures.json` in the target folder.
///
/// # Errors
/// When the running program's own path is not known.
pub fn path() -> io::Result<PathBuf> {
    let mut folder = crate::plugins::build_folder()?;
    folder.pop();
    Ok(folder.join("figures.json"))
}

/// Records `figure` in the file `path`, which is made when it is missing.
///
/// # Errors
/// When the file cannot be read or written, or is not a list.
pub fn record_in(path: &Path, figure: &Figure) -> io::Result<()> {
    // Two benches may end in the same moment.
    let lock = File::create(path.with_extension("lock"))?;
    lock.lock()?;
    let mut figures = read(path)?;
    let known = figures.iter_mut().find(|known| known["name"] == figure.name);
    match known {
        Some(known) => *known = figure.json(),
        None => figures.push(figure.json()),
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let new = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(new.as_file(), &figures)?;
    new.persist(path)?;
    Ok(())
}

fn read(path: &Path) -> io::Result<Vec<Value>> {
    match std::fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, value: f64) -> Figure {
        Figure { name: name.to_owned(), value, unit: "ms".to_owned(), bar: 10.0, direction: Direction::AtMost }
    }

    #[test]
    fn a_figure_that_is_recorded_again_replaces_the_old_one_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.json");
        for (name, value) in [("a", 1.0), ("b", 2.0), ("a", 30.0)] {
            record_in(&path, &figure(name, value)).unwrap();
        }
        let expected = json!([
            {"name": "a", "value": 30.0, "unit": "ms", "bar": 10.0, "met": false},
            {"name": "b", "value": 2.0, "unit": "ms", "bar": 10.0, "met": true},
        ]);
        assert_eq!(Value::from(read(&path).unwrap()), expected);
    }

    #[test]
    fn figures_recorded_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.json");
        std::thread::scope(|scope| {
            for index in 0..8 {
                let path = &path;
                scope.spawn(move || record_in(path, &figure(&index.to_string(), 1.0)).unwrap());
            }
        });
        assert_eq!(read(&path).unwrap().len(), 8);
    }

    #[test]
    fn a_bar_has_a_side() {
        let at_most = figure("a", 10.0);
        assert!(at_most.met());
        let at_least = Figure { direction: Direction::AtLeast, ..figure("a", 9.9) };
        assert!(!at_least.met());
        assert!(!figure("a", f64::NAN).met());
        assert_eq!(at_most.to_string(), "met    a: 10 ms (at most 10 ms)");
        assert_eq!(at_least.to_string(), "MISSED a: 9.9 ms (at least 10 ms)");
    }

    #[test]
    fn values_are_short() {
        let told = [0.0, 0.2948, 2.5, 10.04, 100.0, 1234.6, -0.5].map(short);
        assert_eq!(told, ["0", "0.295", "2.5", "10", "100", "1235", "-0.5"]);
    }

    #[test]
    fn a_file_that_is_no_list_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.json");
        std::fs::write(&path, "{}").unwrap();
        assert!(record_in(&path, &figure("a", 1.0)).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    }
}
