// SPDX-License-Identifier: Apache-2.0
//! Fuzzes without a fuzzer: seeds with random changes, no coverage. For a
//! machine without cargo-fuzz.
//! `cargo run -p fuzz-cases --example storm -- TARGET SECONDS [SEED]`

use fuzz_cases::{TARGETS, mutate_json};
use std::time::{Duration, Instant};

/// Bytes of an input, at most.
const LONGEST: usize = 1 << 19;

/// Choices from a seed (SplitMix64).
struct Choices(u64);

impl Choices {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % count.max(1) as u64) as usize
    }

    fn change(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(input.len() + 1);
        match self.below(6) {
            0 | 1 if at < input.len() => input[at] ^= 1 << self.below(8),
            2 if at < input.len() => input[at] = self.below(256) as u8,
            3 => input.insert(at, self.below(256) as u8),
            4 => {
                let end = (at + self.below(16)).min(input.len());
                input.drain(at..end);
            }
            _ => {
                let from = self.below(other.len());
                let to = (from + self.below(64)).min(other.len());
                input.splice(at..at, other[from..to].iter().copied());
            }
        }
        input.truncate(LONGEST);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = "storm TARGET SECONDS [SEED]";
    let (name, run) = TARGETS
        .into_iter()
        .find(|(name, _)| Some(*name) == args.first().map(String::as_str))
        .expect(usage);
    let seconds: u64 = args.get(1).expect(usage).parse().expect(usage);
    let mut choices = Choices(args.get(2).map_or(1, |seed| seed.parse().expect(usage)));
    let seeds: Vec<Vec<u8>> = fuzz_cases::seeds(name)
        .iter()
        .map(|path| std::fs::read(path).expect("a seed"))
        .collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut runs, mut faults) = (0u64, 0);
    let mut slowest = Duration::ZERO;
    while Instant::now() < end {
        let mut input = match choices.below(3) {
            0 => (0..choices.below(128))
                .map(|_| choices.below(256) as u8)
                .collect(),
            _ => seeds[choices.below(seeds.len())].clone(),
        };
        for _ in 0..=choices.below(8) {
            let other = choices.below(seeds.len());
            let seed = choices.below(1 << 32) as u64;
            let changed = (name == "json")
                .then(|| mutate_json(&input, LONGEST, seed))
                .flatten();
            match changed {
                Some(changed) => input = changed,
                None => choices.change(&mut input, &seeds[other]),
            }
        }
        let before = Instant::now();
        if std::panic::catch_unwind(|| run(&input)).is_err() {
            faults += 1;
            let file = format!("storm-{name}-{faults}");
            std::fs::write(&file, &input).expect("the input can be kept");
            println!("{file}: a panic");
        }
        let took = before.elapsed();
        if took > slowest {
            slowest = took;
            std::fs::write(format!("storm-{name}-slowest"), &input).expect("the input can be kept");
        }
        runs += 1;
    }
    println!("{name}: {runs} runs, {faults} faults, the slowest {slowest:?}");
}
