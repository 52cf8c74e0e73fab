//! Records what the crate is built with, so that a plugin can say it of itself before it is loaded.

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = std::process::Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|out| String::from_utf8(out.stdout).ok())
        .unwrap_or_else(|| "unknown".into());
    let target = std::env::var("TARGET").unwrap_or_else(|_| "unknown".into());
    println!("cargo::rustc-env=SEAM_BUILT_WITH={}", version.trim());
    println!("cargo::rustc-env=SEAM_BUILT_FOR={target}");
    println!("cargo::rerun-if-changed=build.rs");
}
