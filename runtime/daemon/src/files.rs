//! The files that a daemon was made from: whether they are others by now, and in which folders one would see it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// How many links a path may lead over: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    inode: u64,
    length: u64,
    modified: SystemTime,
    /// Changes with the file's rights too: one that could not be read may be readable now.
    changed: (i64, i64),
}

/// Files as they were at one moment; `None`: there was no file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileStates(BTreeMap<PathBuf, Option<State>>);

impl FileStates {
    /// The files as they are now.
    #[must_use]
    pub fn now(files: &[PathBuf]) -> Self {
        Self(files.iter().map(|file| (file.clone(), state(file))).collect())
    }

    /// The files as they were read by what looked at `self` first, then, from `began` on, read them all. A file that only
    /// then turned out to be one of them was not looked at before; if it was written since, what was read is not known.
    #[must_use]
    pub fn as_read(&self, files: &[PathBuf], began: SystemTime) -> Self {
        let as_read = |file: &PathBuf| match self.0.get(file) {
            Some(looked_at) => *looked_at,
            None => state(file).filter(|state| state.modified < began),
        };
        Self(files.iter().map(|file| (file.clone(), as_read(file))).collect())
    }
}

fn state(file: &Path) -> Option<State> {
    let metadata = std::fs::metadata(file).ok()?;
    Some(State {
        inode: metadata.ino(),
        length: metadata.len(),
        modified: metadata.modified().ok()?,
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// The folders in which a change can make one of `files` another file.
#[must_use]
pub fn folders(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    for file in files {
        follow(file, &mut folders);
    }
    folders
}

/// Adds the folder that an absolute path leads to, that of each link on the way, and, where the way breaks off, the last
/// folder that is there. None of them has a link in its own path.
fn follow(file: &Path, folders: &mut BTreeSet<PathBuf>) {
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    let mut ahead = steps(file);
    while let Some(step) = ahead.pop_front() {
        if step == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&step);
        match std::fs::read_link(&next) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                folders.insert(at.clone());
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for step in steps(&target).into_iter().rev() {
                    ahead.push_front(step);
                }
            }
            _ if ahead.is_empty() || !next.is_dir() => {
                folders.insert(at);
                return;
            }
            _ => at = next,
        }
    }
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, Instant};

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    fn of(path: &Path) -> Vec<PathBuf> {
        folders(&[path.to_owned()]).into_iter().collect()
    }

    #[test]
    fn a_plain_file_is_watched_in_its_folder_and_a_missing_one_where_it_would_appear() {
        let (_keep, root) = folder();
        fs::write(root.join("a"), "").unwrap();
        assert_eq!(of(&root.join("a")), std::slice::from_ref(&root));
        assert_eq!(of(&root.join("b")), std::slice::from_ref(&root));
        assert_eq!(of(&root.join("no/such/folder/b")), std::slice::from_ref(&root));
        assert_eq!(of(&root.join("x/../a")), std::slice::from_ref(&root), "x is not there");
    }

    #[test]
    fn every_link_on_the_way_is_watched_where_it_stands() {
        let (_keep, root) = folder();
        fs::create_dir_all(root.join("mount/..v1")).unwrap();
        fs::write(root.join("mount/..v1/seamd.toml"), "").unwrap();
        symlink("..v1", root.join("mount/..data")).unwrap();
        symlink("..data/seamd.toml", root.join("mount/seamd.toml")).unwrap();
        symlink(root.join("mount"), root.join("current")).unwrap();
        let wanted = [root.clone(), root.join("mount"), root.join("mount/..v1")];
        assert_eq!(of(&root.join("current/seamd.toml")), wanted);
        assert_eq!(of(&root.join("mount/..v1/../seamd.toml")), wanted[1..]);
    }

    #[test]
    fn links_in_a_circle_come_to_an_end() {
        let (_keep, root) = folder();
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        assert_eq!(of(&root.join("a")), [root]);
    }

    #[test]
    fn other_bytes_another_file_and_other_rights_are_another_state() {
        let (_keep, root) = folder();
        let files = [root.join("a"), root.join("none")];
        fs::write(&files[0], "one").unwrap();
        let mut before = FileStates::now(&files);
        assert_eq!(before, FileStates::now(&files));
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(&files[0], "longer").unwrap(),
            &|| fs::write(root.join("new"), "longer").and_then(|()| fs::rename(root.join("new"), &files[0])).unwrap(),
            &|| fs::set_permissions(&files[0], fs::Permissions::from_mode(0o400)).unwrap(),
            &|| fs::write(&files[1], "").unwrap(),
        ];
        for (nth, change) in changes.iter().enumerate() {
            let began = Instant::now();
            change();
            // The clock that stamps files goes in steps: what came within one is done again.
            while before == FileStates::now(&files) {
                assert!(began.elapsed() < Duration::from_secs(5), "change {nth}");
                change();
            }
            before = FileStates::now(&files);
        }
    }

    #[test]
    fn a_file_that_was_written_while_it_was_read_first_counts_as_unread() {
        let (_keep, root) = folder();
        let (known, new) = (root.join("known"), root.join("new"));
        fs::write(&known, "").unwrap();
        fs::write(&new, "").unwrap();
        let looked_at = FileStates::now(std::slice::from_ref(&known));
        let files = [known, new];
        let later = SystemTime::now() + Duration::from_secs(1);
        assert_eq!(looked_at.as_read(&files, later), FileStates::now(&files));
        assert_ne!(looked_at.as_read(&files, SystemTime::UNIX_EPOCH), FileStates::now(&files));
    }
}
