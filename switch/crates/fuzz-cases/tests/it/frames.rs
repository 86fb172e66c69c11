// SPDX-License-Identifier: Apache-2.0
//! No frame of any length does harm in any program.

use fuzz_cases::{PROGRAMS, packets};
use proptest::prelude::*;

/// An input of the target `packets`: a program, no change of default actions,
/// and the frame from port 1.
fn input(program: usize, choices: &[u8], frame: &[u8]) -> Vec<u8> {
    let mut bytes = vec![program as u8, choices.len() as u8];
    bytes.extend_from_slice(choices);
    bytes.extend([0, 1]);
    bytes.extend((frame.len() as u16).to_be_bytes());
    bytes.extend_from_slice(frame);
    bytes
}

#[test]
fn frames_of_every_length() {
    for program in 0..PROGRAMS.len() {
        for length in (0..128).chain((128..2048).step_by(61)).chain([2047]) {
            packets(&input(program, &[], &vec![length as u8; length]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn frames_of_random_bytes(
        program in 0..PROGRAMS.len(),
        choices in prop::collection::vec(any::<u8>(), 0..40),
        frame in prop::collection::vec(any::<u8>(), 0..2048),
    ) {
        packets(&input(program, &choices, &frame));
    }
}
