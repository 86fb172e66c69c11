// SPDX-License-Identifier: Apache-2.0
//! Tells the module what it is built of, as `DOCSIS_WORLD_SOURCES`.
//!
//! Results are kept by what made them. The library itself would not do as its name: compiled in
//! another folder it is another file, although it plays the same world to the bit.

use sha2::{Digest, Sha256};
use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the module has nothing of.
const OTHERS: [&str; 3] = ["docsis-switch", "fuzz-cases", "stf"];

fn main() -> Result<(), Box<dyn Error>> {
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = own.ancestors().nth(2).ok_or("it is in no workspace")?;
    // A crate that is new is in the lock file.
    let mut parts = ["Cargo.toml", "Cargo.lock", "proto"]
        .map(|name| workspace.join(name))
        .to_vec();
    for entry in fs::read_dir(workspace.join("crates"))? {
        let folder = entry?.path();
        if !OTHERS.iter().any(|other| folder.ends_with(other)) {
            parts.extend(["Cargo.toml", "build.rs", "src"].map(|name| folder.join(name)));
        }
    }
    let mut files = Vec::new();
    for part in parts.iter().filter(|part| part.exists()) {
        println!("cargo::rerun-if-changed={}", part.display());
        add(part, &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    hash.update(compiler()?);
    for name in ["PROFILE", "OPT_LEVEL", "TARGET", "CARGO_CFG_TARGET_FEATURE"] {
        hash.update(format!("\n{name} {}", env::var(name).unwrap_or_default()));
    }
    hash.update(format!(
        "\n{}",
        env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default()
    ));
    for file in &files {
        let content = fs::read(file)?;
        let name = file.strip_prefix(workspace)?;
        hash.update(format!("\n{} {}\n", name.display(), content.len()));
        hash.update(content);
    }
    let digest: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo::rustc-env=DOCSIS_WORLD_SOURCES={digest}");
    Ok(())
}

/// Adds a file, or all in a folder.
fn add(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            add(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}

/// The compiler and its version, in its own words.
fn compiler() -> Result<Vec<u8>, Box<dyn Error>> {
    let said = Command::new(env::var("RUSTC")?).arg("-vV").output()?;
    Ok(said.stdout)
}
