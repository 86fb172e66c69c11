// SPDX-License-Identifier: Apache-2.0
//! Every seed of the fuzzer, and every input that it once found a fault with.

use fuzz_cases::{TARGETS, regressions, seeds};
use std::fs;

#[test]
fn no_known_input_does_harm() {
    for (target, run) in TARGETS {
        let inputs = seeds(target);
        assert!(!inputs.is_empty(), "there are no seeds for {target}");
        for path in inputs.into_iter().chain(regressions(target)) {
            // The name is in the output when the test fails.
            println!("{}", path.display());
            run(&fs::read(&path).unwrap());
        }
    }
}
