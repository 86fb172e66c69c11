// SPDX-License-Identifier: Apache-2.0
//! What is known not to agree with Linux, in `differences.txt`: exactly that.

use std::collections::BTreeMap;

/// Traces that differ in an aspect, with the first difference.
pub type Found = BTreeMap<String, String>;

/// What `differences.txt` lists, as traces and aspects: a line is
/// "TRACE ASPECT: why".
pub fn all() -> Vec<(String, String)> {
    include_str!("differences.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (key, why) = line.split_once(": ").expect("TRACE ASPECT: why");
            assert!(!why.is_empty(), "{line}");
            let (trace, aspect) = key.split_once(' ').expect("TRACE ASPECT");
            (trace.to_owned(), aspect.to_owned())
        })
        .collect()
}

/// Ok if `found` is exactly what is known of `aspect`.
pub fn check(aspect: &str, found: &Found) -> Result<(), String> {
    let mut known: Vec<String> = all()
        .into_iter()
        .filter(|(_, of)| of == aspect)
        .map(|(trace, _)| trace)
        .collect();
    known.sort();
    let names: Vec<String> = found.keys().cloned().collect();
    if names == known {
        return Ok(());
    }
    Err(format!(
        "{aspect}: known to differ from Linux are {known:?}, but these do: {found:#?}"
    ))
}
