// SPDX-License-Identifier: Apache-2.0
//! Random programs: what changes nothing gives back what it got, and the
//! optimiser changes nothing that anyone can see.

use crate::common::{outcome_at, pass};
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

/// What becomes of frames that are all in the queue before the last of them leaves it first.
fn queued(pipeline: &mut Pipeline, frames: &[Vec<u8>]) -> Vec<Option<(u16, Vec<u8>)>> {
    let mut queue = Vec::new();
    for (depth, frame) in (0..).zip(frames) {
        let mut packet = Packet::new();
        match pipeline.ingress(1_000, 3, frame, &mut packet).fate {
            Fate::Unicast { port } => {
                pipeline.mark_enqueued(2_000, depth, &mut packet);
                queue.push(Some((port, packet)));
            }
            _ => queue.push(None),
        }
    }
    let mut leave = |waiting: Option<(u16, Packet)>| {
        let (port, mut packet) = waiting?;
        let metadata = EgressMetadata {
            port,
            ..EgressMetadata::default()
        };
        let mut out = Vec::new();
        let outcome = pipeline.egress(9_000, &metadata, &mut packet, &mut out);
        (outcome.fate == EgressFate::Send).then_some((port, out))
    };
    queue.into_iter().rev().map(&mut leave).collect()
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
            let [fast_one, slow_one] =
                [&mut fast, &mut slow].map(|pipeline| outcome_at(pipeline, 1_000, 3, &frame));
            prop_assert_eq!(fast_one, slow_one);
            for cell in 0..6 {
                let id = RegisterId(0);
                prop_assert_eq!(fast.register(id, cell), slow.register(id, cell));
            }
        }
    }

    /// A packet that is traced takes all its fields through the queue, any other what egress
    /// reads. Nobody sees the difference, whatever ran while they waited.
    #[test]
    fn packets_that_wait_take_with_them_what_they_need(
        seed: u64,
        data in prop::collection::vec(data(), 4),
        truths in prop::collection::vec(truth(data()), 3),
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 30..130), 2..8),
    ) {
        let Ok(program) = load(&program(seed, &data, &truths)) else {
            // Too wide an expression.
            return Ok(());
        };
        let mut few = Pipeline::new(Arc::clone(&program), 0);
        let mut all = Pipeline::new(program, 0);
        all.set_trace(Some(Box::new(Forget)));
        prop_assert_eq!(queued(&mut few, &frames), queued(&mut all, &frames));
    }
}
