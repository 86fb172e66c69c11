// SPDX-License-Identifier: Apache-2.0
//! Records anew with this machine's kernel, and compares.

use std::path::Path;
use std::process::Command;

use crate::ASPECTS;
use crate::differences::{Found, check};
use crate::sender::repeated;
use crate::trace::{all, committed};

/// The kernel sends the same segments in the same order as when the committed
/// traces were recorded, and ours agrees with the new ones as with those.
#[test]
#[ignore = "long: records in network namespaces for a minute, as root"]
fn recorded_anew() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tcp-traces");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linux/record.py");
    let status = Command::new("python3").arg(script).arg(&folder).status();
    let status = status.expect("python3 is on PATH");
    assert!(status.success(), "record.py: {status}");
    let (old, new) = (committed(), all(&folder));
    let names = |traces: &[crate::trace::Trace]| -> Vec<String> {
        traces.iter().map(|trace| trace.name.clone()).collect()
    };
    assert_eq!(names(&old), names(&new));
    let mut changed = Found::new();
    for (old, new) in old.iter().zip(&new) {
        if let Some(difference) = repeated(new, old) {
            changed.insert(new.name.clone(), difference);
        }
    }
    assert!(changed.is_empty(), "this kernel differs: {changed:#?}");
    let results = ASPECTS.map(|(aspect, compare)| check(aspect, &compare(&new)));
    let errors: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
