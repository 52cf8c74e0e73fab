//! Writes the inputs that a search starts from: `fuzz-seeds <folder>` makes one folder below it for each corpus. Without
//! a folder it prints the targets, each with its corpus.

use std::io;
use std::path::Path;

use fuzz::{TARGETS, seeds};

fn main() -> io::Result<()> {
    let Some(folder) = std::env::args().nth(1) else {
        TARGETS.iter().for_each(|target| println!("{} {}", target.name, target.corpus));
        return Ok(());
    };
    for target in TARGETS {
        let folder = Path::new(&folder).join(target.corpus);
        std::fs::create_dir_all(&folder)?;
        for seed in seeds(target.corpus)? {
            std::fs::write(folder.join(seed.name), seed.input)?;
        }
    }
    Ok(())
}
