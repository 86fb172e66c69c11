// SPDX-License-Identifier: Apache-2.0
//! Memory of this process, as the kernel counts it.

/// The most that was resident at any time, bytes; `None` where /proc does not tell.
pub fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
