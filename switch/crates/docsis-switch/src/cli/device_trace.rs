// SPDX-License-Identifier: Apache-2.0
//! `--device-trace DEVICE=FILE`.

use std::path::PathBuf;

/// A device with the file for its trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceTraceArg {
    /// The device.
    pub device: u64,
    /// The file.
    pub file: PathBuf,
}

/// # Errors
/// What is wrong with `text`.
pub fn parse(text: &str) -> Result<DeviceTraceArg, String> {
    let parts = text.split_once('=').filter(|(_, file)| !file.is_empty());
    let device = parts.and_then(|(device, file)| Some((device.parse().ok()?, file)));
    let (device, file) =
        device.ok_or_else(|| format!("`{text}` is not DEVICE=FILE, as in 2=cmts.txt"))?;
    Ok(DeviceTraceArg {
        device,
        file: file.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_device_and_a_file() {
        let one = parse("2=a=b.txt").unwrap();
        assert_eq!((one.device, &*one.file), (2, "a=b.txt".as_ref()));
        for text in ["", "2", "2=", "=file", "x=file", "-1=file"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
