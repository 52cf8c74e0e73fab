//! What the operating system says of a process and of those that it started.

use crate::os::process_cpu_nanos;
use std::fs;
use std::io;

/// A process with all its descendants, as of the moment when this was made.
#[derive(Clone, Debug)]
pub struct Family(Vec<u32>);

impl Family {
    /// The family of `pid`.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn of(pid: u32) -> io::Result<Self> {
        let mut parents = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(parent) = parent(id) {
                parents.push((id, parent));
            }
        }
        let mut family = vec![pid];
        let mut next = 0;
        while next < family.len() {
            let member = family[next];
            let children = parents.iter().filter(|(_, parent)| *parent == member);
            family.extend(children.map(|(id, _)| id));
            next += 1;
        }
        Ok(Self(family))
    }

    /// The processor time that all of them have used, in seconds. One that has ended counts nothing.
    #[must_use]
    pub fn cpu_seconds(&self) -> f64 {
        let nanos = |pid: &u32| process_cpu_nanos(*pid).ok();
        self.0.iter().filter_map(nanos).sum::<u64>() as f64 / 1e9
    }

    /// The resident memory of all of them, in bytes. What they share counts for each.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        self.0.iter().filter_map(|pid| resident(*pid)).sum()
    }
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// From `smaps_rollup`, which counts; `statm` is off by what each thread has not yet reported.
fn resident(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Process;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn children_belong_to_the_family() {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped());
        let child = Process::start(&mut command, Duration::ZERO).unwrap();
        let family = Family::of(std::process::id()).unwrap();
        assert!(family.0.contains(&child.id()), "{family:?}");
    }

    #[test]
    fn memory_that_is_touched_is_resident() {
        let family = Family(vec![std::process::id()]);
        let before = family.resident_bytes();
        let touched = std::hint::black_box(vec![1_u8; 32 << 20]);
        let grown = family.resident_bytes().saturating_sub(before);
        assert!(grown > 24 << 20, "{grown} of {}", touched.len());
    }
}
