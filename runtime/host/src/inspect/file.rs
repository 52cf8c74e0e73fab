//! From a path to the bytes of one file that nobody was writing to meanwhile.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::Refusal;

/// The largest library that is read: far more than any plugin has, and an end for a sparse file of terabytes.
pub const LARGEST_FILE: u64 = 512 * 1024 * 1024;

/// Reads a file as a whole.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Refusal> {
    // Opening a pipe would otherwise wait for somebody to write into it.
    let mut file =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(|error| unreadable(&error))?;
    read_unchanged(&mut file, |file, bytes| file.read_to_end(bytes).map(drop))
}

/// Reads with `read` and refuses what was changed between its begin and its end.
fn read_unchanged(
    file: &mut File,
    read: impl FnOnce(&mut File, &mut Vec<u8>) -> io::Result<()>,
) -> Result<Vec<u8>, Refusal> {
    let before = file.metadata().map_err(|error| unreadable(&error))?;
    let size = readable_size(&before)?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    read(file, &mut bytes).map_err(|error| unreadable(&error))?;
    let after = file.metadata().map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 != size || state(&before) != state(&after) {
        return Err(Refusal::ChangedWhileRead);
    }
    Ok(bytes)
}

fn readable_size(metadata: &Metadata) -> Result<u64, Refusal> {
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(Refusal::Directory);
    }
    if !kind.is_file() {
        let kind = match kind {
            kind if kind.is_fifo() => "a pipe",
            kind if kind.is_socket() => "a socket",
            _ => "a device",
        };
        return Err(Refusal::NotALibrary(kind));
    }
    match metadata.len() {
        0 => Err(Refusal::Empty),
        size if size > LARGEST_FILE => Err(Refusal::TooLarge { size }),
        size => Ok(size),
    }
}

/// What changes when somebody writes to a file.
fn state(metadata: &Metadata) -> (u64, i64, i64, i64, i64) {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec())
}

fn unreadable(error: &io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotFound => Refusal::Missing,
        ErrorKind::PermissionDenied => Refusal::Forbidden,
        _ => Refusal::Unreadable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn changed_while_read(change: impl FnOnce(&Path)) -> Result<Vec<u8>, Refusal> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plugin.so");
        std::fs::write(&path, vec![7; 4096]).unwrap();
        read_unchanged(&mut File::open(&path).unwrap(), |file, bytes| {
            file.read_to_end(bytes)?;
            change(&path);
            Ok(())
        })
    }

    #[test]
    fn a_file_that_is_left_alone_is_read() {
        assert_eq!(changed_while_read(|_| ()), Ok(vec![7; 4096]));
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_refused() {
        let grown = changed_while_read(|path| {
            OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap();
        });
        assert_eq!(grown, Err(Refusal::ChangedWhileRead));
    }

    #[test]
    fn a_file_that_keeps_its_size_but_not_its_time_is_refused() {
        let touched = changed_while_read(|path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        });
        assert_eq!(touched, Err(Refusal::ChangedWhileRead));
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(read(&path), Err(Refusal::NotALibrary("a pipe")));
    }

    #[test]
    fn a_sparse_giant_is_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("giant.so");
        File::create(&path).unwrap().set_len(LARGEST_FILE + 1).unwrap();
        assert_eq!(read(&path), Err(Refusal::TooLarge { size: LARGEST_FILE + 1 }));
    }
}
