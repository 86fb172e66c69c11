// SPDX-License-Identifier: Apache-2.0
//! What is known not to agree with Linux, in `differences.txt`: exactly that.

use std::collections::BTreeMap;

/// A trace and the aspect in which it differs, with the first difference.
pub type Found = BTreeMap<String, String>;

/// What `differences.txt` lists for the traces of `aspect`: a line is
/// "TRACE ASPECT: why".
fn known(aspect: &str) -> Vec<String> {
    include_str!("differences.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once(": ").expect("TRACE ASPECT: why").0)
        .filter(|key| key.ends_with(&format!(" {aspect}")))
        .map(str::to_owned)
        .collect()
}

/// Fails unless `found` is exactly what is known.
pub fn check(aspect: &str, found: &Found) {
    let mut known = known(aspect);
    known.sort();
    let names: Vec<String> = found
        .keys()
        .map(|name| format!("{name} {aspect}"))
        .collect();
    assert_eq!(names, known, "differences from Linux: {found:#?}");
}
