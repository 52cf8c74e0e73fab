//! Copies of the libraries that are mapped, where nobody else writes to them: writing to a mapped file ends the process.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::inspect::{Digest, hexadecimal};

/// How a process's folder begins, so that its leftovers are known as such.
const PREFIX: &str = "seamd-plugins-";

/// The file in a folder that its process keeps locked.
const LOCK: &str = "lock";

/// The folder of one process's copies, only its user's. Removed when dropped; that of a process that could not do so is
/// removed by the next one. What is mapped from it stays mapped.
pub(crate) struct Copies {
    folder: TempDir,
    /// The lock file, and the folder itself, which cleaners of temporary folders leave alone as long as it is locked.
    _locks: [File; 2],
}

impl Copies {
    /// A fresh folder below `parent`, which is made if it is not there; by default below the system's temporary one.
    pub(crate) fn new(parent: Option<PathBuf>) -> io::Result<Self> {
        let parent = match parent {
            Some(parent) => {
                DirBuilder::new().recursive(true).mode(0o700).create(&parent)?;
                parent
            }
            None => std::env::temp_dir(),
        };
        // The system's loader searches for what is not an absolute path.
        let parent = fs::canonicalize(parent)?;
        let folder =
            tempfile::Builder::new().prefix(PREFIX).permissions(Permissions::from_mode(0o700)).tempdir_in(&parent)?;
        let locks = [lock(folder.path())?, File::open(folder.path())?];
        locks[1].lock()?;
        sweep(&parent, folder.path().metadata()?.uid());
        Ok(Self { folder, _locks: locks })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the copy of a library, unless it is there already.
    pub(crate) fn write(&self, digest: &Digest, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.folder().join(format!("{}.so", hexadecimal(digest)));
        if path.exists() {
            return Ok(path);
        }
        let mut file =
            tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(self.folder())?;
        file.write_all(bytes)?;
        file.as_file().set_permissions(Permissions::from_mode(0o500))?;
        file.persist(&path)?;
        Ok(path)
    }

    /// Removes the copy of a library that turned out to be of no use. What cannot be removed goes with the folder.
    pub(crate) fn discard(&self, copy: &Path) {
        if let Err(error) = fs::remove_file(copy) {
            tracing::debug!(target: "seam_host", copy = %copy.display(), %error, "left the copy of a library that does not load");
        }
    }
}

/// The lock file gets its name when it is held: a folder without one is still being made and is left alone.
fn lock(folder: &Path) -> io::Result<File> {
    let unnamed = folder.join("unlocked");
    let file = File::create_new(&unnamed)?;
    file.lock()?;
    fs::rename(unnamed, folder.join(LOCK))?;
    Ok(file)
}

/// Removes the folders that this user's processes left behind. What cannot be removed is left to the next start.
fn sweep(parent: &Path, user: u32) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user);
        if is_ours && is_abandoned(&entry.path()) {
            let removed = fs::remove_dir_all(entry.path());
            tracing::debug!(target: "seam_host", folder = %entry.path().display(), ?removed, "copies of a process that is gone");
        }
    }
}

/// Whether the process that made a folder is gone: the system released its lock.
fn is_abandoned(folder: &Path) -> bool {
    match File::open(folder.join(LOCK)).map(|lock| lock.try_lock()) {
        Ok(Ok(())) => true,
        Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_only_their_users_and_never_written_again() {
        let parent = tempfile::tempdir().unwrap();
        let copies = Copies::new(Some(parent.path().join("below/that"))).unwrap();
        assert_eq!(copies.folder().metadata().unwrap().mode() & 0o777, 0o700);
        let path = copies.write(&[7; 32], b"bytes").unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o500);
        let inode = path.metadata().unwrap().ino();
        assert_eq!(copies.write(&[7; 32], b"bytes").unwrap().metadata().unwrap().ino(), inode);
        assert_eq!(fs::read(path).unwrap(), b"bytes");
    }

    #[test]
    fn a_folder_goes_with_its_loader() {
        let parent = tempfile::tempdir().unwrap();
        let copies = Copies::new(Some(parent.path().to_owned())).unwrap();
        copies.write(&[7; 32], b"bytes").unwrap();
        drop(copies);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn leftovers_of_a_dead_process_are_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let abandoned = folder("seamd-plugins-dead");
        fs::write(abandoned.join(LOCK), "").unwrap();
        fs::write(abandoned.join("0a.so"), "").unwrap();
        let being_made = folder("seamd-plugins-new");
        let foreign = folder("something-else");
        fs::write(foreign.join(LOCK), "").unwrap();
        let living = Copies::new(Some(parent.path().to_owned())).unwrap();
        let second = Copies::new(Some(parent.path().to_owned())).unwrap();
        assert!(!abandoned.exists());
        assert!(being_made.exists() && foreign.exists());
        assert!(living.folder().exists() && second.folder().exists());
    }
}
