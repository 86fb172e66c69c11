// SPDX-License-Identifier: Apache-2.0
//! The fuzz target of tests in p4c's simple test format, which are run if they can be read.

use crate::programs::program;
use ::stf::{Options, parse, run};

/// The first byte chooses one of [`PROGRAMS`](crate::PROGRAMS), and the rest is the test.
pub fn stf(data: &[u8]) {
    let Some((at, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    if let Ok(script) = parse(text) {
        let outcome = run(program(usize::from(*at)), &script, &Options::default());
        let _ = (outcome.text("fuzz"), outcome.json());
    }
}
