//! Where the build put what it built.

use std::io;
use std::path::PathBuf;

/// The folder of this build profile (`target/debug`, `target/release`), in which whatever runs this was built.
///
/// # Errors
/// When the running program's own path is not known.
pub fn build_folder() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let mut folder = program.clone();
    folder.pop();
    // Tests and benches are built one folder deeper.
    if folder.ends_with("deps") {
        folder.pop();
    }
    Ok(folder)
}

/// The path of the plugin whose library is called `name`: `redaction` for `libredaction.so`.
///
/// # Errors
/// When it has not been built; the error says how to.
pub fn plugin(name: &str) -> io::Result<PathBuf> {
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    built(&file, &format!("seam-{}", name.replace('_', "-")))
}

/// The path of a program of this workspace, built from `package`.
///
/// # Errors
/// When it has not been built; the error says how to.
pub fn program(name: &str, package: &str) -> io::Result<PathBuf> {
    built(&format!("{name}{}", std::env::consts::EXE_SUFFIX), package)
}

fn built(file: &str, package: &str) -> io::Result<PathBuf> {
    let path = build_folder()?.join(file);
    if path.is_file() {
        return Ok(path);
    }
    let (target, release) = if cfg!(debug_assertions) { ("test", "") } else { ("bench-proxy", " --release") };
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!(
            "{} has not been built: `make {target}` does it, or `cargo build{release} -p {package}`",
            path.display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_is_said_with_the_command_that_builds_it() {
        let error = plugin("no_such").unwrap_err().to_string();
        assert!(error.contains("no_such"), "{error}");
        assert!(error.contains("-p seam-no-such"), "{error}");
    }

    #[test]
    fn the_build_folder_holds_the_folder_of_dependencies() {
        assert!(build_folder().unwrap().join("deps").is_dir());
    }
}
