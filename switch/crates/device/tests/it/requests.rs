// SPDX-License-Identifier: Apache-2.0
//! sf_requests_met: frames behind which the service flow had nothing to request, because
//! its queue was empty or less than 1522 bytes of sustained tokens were left.

use crate::common::modem::{
    CODEL, DOCSIS_PIE, DROP_TAIL, Flow, Frame, LRED, Modem, PIE, START, number,
};
use proptest::prelude::*;

const MAX_PACKET: u64 = 1522;
/// Of tokens in a byte.
const BYTE: u64 = 8_000_000;

fn modem(manager: u8, rate: u64, burst: u64) -> Modem {
    let mut modem = Modem::new(&Flow {
        manager,
        rate,
        max_burst: burst,
        ..Flow::default()
    });
    let bucket = [("max_sustained_rate", rate), ("max_burst", burst)];
    modem.parameters("token_bucket.msr_bucket", "set_bucket", &bucket);
    modem.set_state("msr_tokens", burst * BYTE);
    modem.set_state("msr_updated", START / 1000);
    modem
}

fn frame(number: u32, length: usize) -> Frame {
    Frame {
        session: 1,
        number,
        length,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn it_counts_exactly_then(
        rate in 1_000_000u64..50_000_000,
        burst in MAX_PACKET..60_000,
        load in prop::collection::vec((0u64..20_000, prop::collection::vec(64usize..1500, 1..40)), 1..40),
    ) {
        let mut modem = modem(DOCSIS_PIE, rate, burst);
        let (mut now, mut lengths, mut queued) = (START, Vec::new(), 0);
        let (mut tokens, mut updated, mut met) = (burst * BYTE, START / 1000, 0);
        let (mut empty, mut spent) = (0, 0);
        let mut run = |modem: &mut Modem, now, lengths: &[u64], queued: &mut u64| {
            modem.run(now, |modem, at, frame| {
                let length = lengths[number(frame) as usize];
                *queued -= length;
                // The bucket's recursion, in the pipeline's microseconds.
                let at = at / 1000;
                tokens = (burst * BYTE).min(tokens + (at - updated) * rate);
                tokens = tokens.saturating_sub(length * BYTE);
                updated = at;
                assert_eq!(modem.state("msr_tokens"), tokens);
                if *queued == 0 || tokens < MAX_PACKET * BYTE {
                    met += 1;
                    empty += usize::from(*queued == 0);
                    spent += usize::from(*queued > 0);
                }
                assert_eq!(modem.state("sf_requests_met"), met);
            });
        };
        for (pause, frames) in load {
            now += pause * 1000;
            run(&mut modem, now, &lengths, &mut queued);
            for length in frames {
                modem.receive(now, frame(lengths.len() as u32, length));
                lengths.push(length as u64);
                queued += length as u64;
            }
        }
        run(&mut modem, u64::MAX, &lengths, &mut queued);
        prop_assert_eq!(queued, 0);
        prop_assert!(empty > 0);
    }
}

/// To the byte: tokens for a frame of 1522 bytes are enough.
#[test]
fn the_tokens_of_a_largest_frame_are_enough() {
    let rate = 8_000_000;
    for (tokens, met) in [
        (MAX_PACKET + 100, 0),
        (MAX_PACKET + 99, 1),
        (MAX_PACKET, 1),
        (0, 1),
    ] {
        let mut modem = modem(DOCSIS_PIE, rate, 10_000);
        modem.set_state("msr_tokens", tokens * BYTE);
        // Something else waits, so that the queue is not empty.
        modem.set_backlog(5_000);
        assert!(modem.passes(START, frame(0, 100)));
        assert_eq!(modem.state("sf_requests_met"), met, "{tokens}");
    }
}

#[test]
fn without_a_rate_only_an_empty_queue_counts() {
    let mut modem = Modem::new(&Flow {
        manager: DOCSIS_PIE,
        ..Flow::default()
    });
    modem.set_backlog(5_000);
    assert!(modem.passes(START, frame(0, 100)));
    assert_eq!(modem.state("sf_requests_met"), 0);
    modem.set_backlog(0);
    assert!(modem.passes(START, frame(0, 100)));
    assert_eq!(modem.state("sf_requests_met"), 1);
}

/// Nobody else's law asks for it.
#[test]
fn other_managers_do_not_count() {
    for manager in [DROP_TAIL, CODEL, PIE, LRED] {
        let mut modem = modem(manager, 8_000_000, 10_000);
        assert!(modem.passes(START, frame(0, 100)));
        assert_eq!(modem.state("sf_requests_met"), 0);
    }
}
