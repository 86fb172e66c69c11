// SPDX-License-Identifier: Apache-2.0
//! The measuring that both benchmarks share.

use device::Output;
use std::time::Duration;

/// Packets between two looks at the clock.
pub const CHUNK: usize = 64;

/// Counts what leaves.
#[derive(Default)]
pub struct Sink {
    /// Frames that left.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Output for Sink {
    fn transmit(&mut self, _now: u64, _port: u16, frame: &[u8], _paced: bool) {
        self.frames += 1;
        self.bytes += std::hint::black_box(frame).len() as u64;
    }

    fn packet_in(&mut self, _now: u64, _frame: &[u8]) -> bool {
        false
    }
}

/// Nanoseconds a packet of a chunk.
pub fn per_packet(chunk: Duration) -> f64 {
    chunk.as_nanos() as f64 / CHUNK as f64
}

/// The value at `q` of 1; sorts them.
pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values[((values.len() as f64 * q) as usize).min(last)]
}
