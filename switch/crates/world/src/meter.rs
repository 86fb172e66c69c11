// SPDX-License-Identifier: Apache-2.0
//! Measures at an interval how much a device's port has sent.

use crate::net::Net;

/// Looks at a port at an interval.
#[derive(Debug)]
pub struct Meter {
    /// Its source of events.
    pub source: u32,
    /// Nanoseconds from one look to the next.
    pub interval: u64,
    /// The device, by its index.
    pub device: u32,
    /// The port's number.
    pub port: u16,
    times: Vec<i64>,
    bytes: Vec<i64>,
}

impl Meter {
    /// No look yet.
    #[must_use]
    pub fn new(source: u32, interval: u64, device: u32, port: u16) -> Self {
        Self {
            source,
            interval,
            device,
            port,
            times: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// So many bytes have been on the line by now.
    pub fn take(&mut self, net: &mut Net, bytes: u64) {
        if net.record(2) {
            self.times.push(i64::try_from(net.now).unwrap_or(i64::MAX));
            self.bytes.push(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
    }

    /// When it looked, and how many bytes there were by then.
    #[must_use]
    pub fn columns(&self) -> [&[i64]; 2] {
        [&self.times, &self.bytes]
    }
}
