// SPDX-License-Identifier: Apache-2.0
//! Memory of this process, as the kernel counts it.

/// A line of /proc/self/status that counts memory, bytes; `None` where /proc does not tell.
fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// The most that was resident at any time, bytes.
pub fn peak_resident() -> Option<u64> {
    status("VmHWM:")
}

/// What is resident of files, bytes: code and constants, which the kernel shares and can drop.
pub fn resident_code() -> Option<u64> {
    status("RssFile:")
}
