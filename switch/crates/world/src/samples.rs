// SPDX-License-Identifier: Apache-2.0
//! Samples of an application at an interval.

use crate::net::Net;

/// What a TCP sender is like at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderReading {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes.
    pub ssthresh: u64,
    /// Smoothed round-trip time, nanoseconds.
    pub srtt: u64,
    /// Bytes on their way.
    pub in_flight: u64,
    /// Segments sent again.
    pub retransmissions: u64,
}

/// What an application is like at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Payload received so far.
    pub received: u64,
    /// The reading of TCP's sender, where it is TCP.
    pub sender: Option<SenderReading>,
}

const COLUMNS: [&str; 7] = [
    "time_ns",
    "received",
    "cwnd",
    "ssthresh",
    "srtt_ns",
    "in_flight",
    "retransmissions",
];
/// The number of columns that every application has.
const GENERAL: usize = 2;

/// Columns of samples.
#[derive(Debug)]
pub struct Samples {
    columns: Vec<Vec<i64>>,
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Samples {
    /// None yet, of TCP or something else.
    #[must_use]
    pub fn new(tcp: bool) -> Self {
        let count = if tcp { COLUMNS.len() } else { GENERAL };
        Self {
            columns: vec![Vec::new(); count],
        }
    }

    /// Adds a row for now.
    pub fn take(&mut self, net: &mut Net, reading: &Reading) {
        if !net.record(self.columns.len()) {
            return;
        }
        let sender = reading.sender.unwrap_or_default();
        let row = [
            net.now,
            reading.received,
            sender.cwnd,
            sender.ssthresh,
            sender.srtt,
            sender.in_flight,
            sender.retransmissions,
        ];
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(whole(value));
        }
    }

    /// The columns with their names.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, &[i64])> {
        COLUMNS
            .into_iter()
            .zip(self.columns.iter().map(Vec::as_slice))
    }
}
