// SPDX-License-Identifier: Apache-2.0
//! Installs the name simple_switch_grpc, for scripts that start the switch by it.

use crate::cli::BMV2;
use std::io::ErrorKind;
use std::path::Path;

/// Makes `dir`/simple_switch_grpc a link to this program; what is there and is
/// not such a link stays.
///
/// # Errors
/// One sentence that names the file.
pub fn install(dir: &Path) -> Result<(), String> {
    let link = dir.join(BMV2);
    let failed = |error| format!("{} cannot be made: {error}", link.display());
    let program = std::env::current_exe().map_err(failed)?;
    std::fs::create_dir_all(dir).map_err(failed)?;
    match link.symlink_metadata() {
        Ok(found) if !found.file_type().is_symlink() => {
            return Err(format!(
                "{} is there already and is no link; choose another folder",
                link.display()
            ));
        }
        Ok(_) => std::fs::remove_file(&link).map_err(failed)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    std::os::unix::fs::symlink(&program, &link).map_err(failed)?;
    println!("{} is {}", link.display(), program.display());
    Ok(())
}
