// SPDX-License-Identifier: Apache-2.0
//! Hashes what is compared but not kept into one number: XXH3 with 64 bits.

use device::{Device, Event};
use std::fmt::{self, Write};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// Hashes a frame's bytes.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// Words that are hashed and not kept.
struct Hashed(Xxh3Default);

impl Write for Hashed {
    fn write_str(&mut self, words: &str) -> fmt::Result {
        self.0.update(words.as_bytes());
        Ok(())
    }
}

fn of_words(words: fmt::Arguments<'_>) -> u64 {
    let mut hashed = Hashed(Xxh3Default::new());
    // It cannot fail: the writer does not.
    let _ = hashed.write_fmt(words);
    hashed.0.digest()
}

/// Hashes digests or idle timeouts.
#[must_use]
pub fn hash_of_event(event: &Event) -> u64 {
    of_words(format_args!("{event:?}"))
}

/// Hashes a device's counters and state at `now`: every port, queue and bucket, every drop, and
/// every cell of the pipeline's registers.
#[must_use]
pub fn hash_of_state(device: &Device, now: u64) -> u64 {
    let state = device.traffic_manager_state(now);
    let words = of_words(format_args!(
        "{state:?}{:?}{:?}",
        device.counters(),
        device.drops()
    ));
    let mut hashed = Hashed(Xxh3Default::new());
    hashed.0.update(&words.to_le_bytes());
    if let Some(pipeline) = device.pipeline() {
        let program = pipeline.program();
        for register in program.registers() {
            let Some(id) = program.register(&register.name) else {
                continue;
            };
            let cells = (0..register.size).map(|index| pipeline.register(id, index));
            for value in cells.flatten() {
                hashed.0.update(&value.to_le_bytes());
            }
        }
    }
    hashed.0.digest()
}
