// SPDX-License-Identifier: Apache-2.0
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| fuzz_cases::json(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // One in eight without regard to what is JSON.
    let changed = (seed % 8 != 0)
        .then(|| fuzz_cases::mutate_json(&data[..size], max_size, seed.into()))
        .flatten();
    match changed {
        Some(changed) => {
            data[..changed.len()].copy_from_slice(&changed);
            changed.len()
        }
        None => fuzzer_mutate(data, size, max_size),
    }
});
