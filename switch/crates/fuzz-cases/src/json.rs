// SPDX-License-Identifier: Apache-2.0
//! The fuzz target of the JSON loader. A program that it accepts must run, and it must refuse
//! others without harm.

use crate::bytes::Bytes;
use crate::mutate::{mutate, strip};
use crate::packets::run;
use serde_json::Value;
use std::sync::Arc;
use v1model::Program;

/// The byte that ends the JSON. It does not occur in JSON.
const END: u8 = 0;

/// The most changes that are made to a program at a time.
const CHANGES: usize = 4;

/// The frames for programs that come without frames, in the form that [`run`] reads: 64 zeroes, 64
/// ones, and the beginning of an IPv4 header behind Ethernet's.
fn frames() -> Vec<u8> {
    let mut input = vec![0];
    let mut ipv4 = vec![2; 12];
    ipv4.extend([0x08, 0x00, 0x46, 0x00]);
    ipv4.resize(96, 0x11);
    for (port, frame) in [(0, vec![0; 64]), (1, vec![0xff; 64]), (0, ipv4)] {
        input.extend([port, 1]);
        input.extend((frame.len() as u16).to_be_bytes());
        input.extend(frame);
    }
    input
}

/// The JSON of an input, and what is behind it.
fn split(input: &[u8]) -> (&[u8], &[u8]) {
    match input.iter().position(|byte| *byte == END) {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (input, &[]),
    }
}

/// Loads a program's JSON. If it loads, it gets the frames behind a byte 0, which have the form of
/// the target `packets`, or else a few frames of this module.
pub fn json(data: &[u8]) {
    let (json, rest) = split(data);
    if let Ok(program) = Program::load(json) {
        let program = Arc::new(program);
        match rest {
            [] => run(program, Bytes(&frames())),
            rest => run(program, Bytes(rest)),
        }
    }
}

/// Another input for [`json`] that differs in a few of the JSON's values, or
/// has other frames; at most `most` bytes. The same seed gives the same. `None`
/// when the input has no JSON, or would be too long.
pub fn mutate_json(input: &[u8], most: usize, seed: u64) -> Option<Vec<u8>> {
    let (json, rest) = split(input);
    let mut document: Value = serde_json::from_slice(json).ok()?;
    // Positions in the source are half of a program, so they are removed.
    strip(&mut document);
    let random = random(seed);
    let mut bytes = Bytes(&random);
    let mut rest = rest.to_vec();
    if bytes.below(8) == 0 {
        rest = bytes.take(64).to_vec();
    }
    for _ in 0..=bytes.below(CHANGES) {
        mutate(&mut document, &mut bytes);
    }
    let mut output = serde_json::to_vec(&document).ok()?;
    if !rest.is_empty() {
        output.push(END);
        output.extend(rest);
    }
    (output.len() <= most).then_some(output)
}

/// A program's JSON without the positions in its source; other bytes as they are.
pub fn without_positions(json: &[u8]) -> Vec<u8> {
    let Ok(mut document) = serde_json::from_slice(json) else {
        return json.to_vec();
    };
    strip(&mut document);
    serde_json::to_vec(&document).unwrap_or_else(|_| json.to_vec())
}

/// Bytes from a seed (SplitMix64).
fn random(mut seed: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    while bytes.len() < 512 {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((z ^ (z >> 31)).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{PROGRAMS, text};

    #[test]
    fn the_frames_are_run_as_meant() {
        let input = frames();
        let mut bytes = Bytes(&input);
        assert_eq!(bytes.byte(), 0);
        for (port, length) in [(0, 64), (1, 64), (0, 96)] {
            assert_eq!((bytes.byte(), bytes.byte()), (port, 1));
            assert_eq!(bytes.number(), length);
            assert_eq!(bytes.take(usize::from(length)).len(), usize::from(length));
        }
        assert!(bytes.is_empty());
    }

    #[test]
    fn changed_programs_are_json_of_which_some_load() {
        let mut loaded = 0;
        for seed in 0..200 {
            let at = 5 + seed as usize % (PROGRAMS.len() - 5);
            let changed = mutate_json(text(at), 1 << 20, seed).expect("it has JSON");
            assert_eq!(
                Some(&changed),
                mutate_json(text(at), 1 << 20, seed).as_ref()
            );
            let (json, _) = split(&changed);
            serde_json::from_slice::<Value>(json).expect("it is JSON still");
            loaded += u32::from(Program::load(json).is_ok());
        }
        assert!((20..180).contains(&loaded), "{loaded} of 200 load");
        assert_eq!(mutate_json(b"{\"a\":", 1 << 20, 1), None);
        assert_eq!(mutate_json(text(5), 100, 1), None);
    }
}
