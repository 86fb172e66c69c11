// SPDX-License-Identifier: Apache-2.0
//! Random programs: what changes nothing gives back what it got, and the
//! optimiser changes nothing that anyone can see.

use crate::common::pass;
use crate::generate::expression::{data, truth};
use crate::generate::program::{identity, program};
use proptest::prelude::*;
use std::sync::Arc;
use v1model::trace::{TraceEvent, TraceSink};
use v1model::*;

fn load(json: &[u8]) -> Result<Arc<Program>, LoadError> {
    Program::load(json).map(Arc::new)
}

/// Traces and forgets: what is traced is not optimised.
struct Forget;

impl TraceSink for Forget {
    fn begin(&mut self, _: u64, _: u16, _: &[u8]) -> Option<u64> {
        Some(1)
    }

    fn copy(&mut self, of: u64) -> u64 {
        of
    }

    fn event(&mut self, _: u64, _: u64, _: &TraceEvent<'_>) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn deparse_of_parse_is_the_packet(
        seed: u64,
        rewrite: bool,
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..160), 8),
    ) {
        let program = load(&identity(seed, rewrite));
        let mut pipeline = Pipeline::new(program.map_err(|e| TestCaseError::fail(e.to_string()))?, 0);
        for frame in frames {
            prop_assert_eq!(pass(&mut pipeline, 0, &frame), Some((1, frame)));
        }
    }

    #[test]
    fn the_optimiser_changes_nothing(
        seed: u64,
        data in prop::collection::vec(data(), 4),
        truths in prop::collection::vec(truth(data()), 3),
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 30..130), 8),
    ) {
        let Ok(program) = load(&program(seed, &data, &truths)) else {
            // Too wide an expression.
            return Ok(());
        };
        let mut fast = Pipeline::new(Arc::clone(&program), 0);
        let mut slow = Pipeline::new(program, 0);
        slow.set_trace(Some(Box::new(Forget)));
        for frame in frames {
            prop_assert_eq!(pass(&mut fast, 3, &frame), pass(&mut slow, 3, &frame));
            for cell in 0..6 {
                let id = RegisterId(0);
                prop_assert_eq!(fast.register(id, cell), slow.register(id, cell));
            }
        }
    }
}
