// SPDX-License-Identifier: Apache-2.0
//! What is kept of each segment of a video.

use crate::net::Net;
use crate::records::NEVER;

/// Columns of the segments, in the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns<'a> {
    /// When each was asked for, nanoseconds.
    pub asked: &'a [i64],
    /// When all of it was there, nanoseconds; -1 is not yet.
    pub came: &'a [i64],
    /// When its playing began, or will begin, nanoseconds; -1 while it is not there.
    pub plays: &'a [i64],
    /// Its rate, bit/s.
    pub rate: &'a [i64],
    /// Its bytes.
    pub bytes: &'a [i64],
    /// Playing time in the buffer when it was asked for, nanoseconds.
    pub buffered: &'a [i64],
}

/// The segments of a video. The world bounds how many numbers are kept.
#[derive(Debug, Default)]
pub struct Records {
    asked: Vec<i64>,
    came: Vec<i64>,
    plays: Vec<i64>,
    rate: Vec<i64>,
    bytes: Vec<i64>,
    buffered: Vec<i64>,
}

impl Records {
    /// A segment is asked for now; whether there is room to say so.
    pub fn asked(&mut self, net: &mut Net, rate: u64, bytes: u64, buffered: u64) -> bool {
        if !net.record(6) {
            return false;
        }
        self.asked.push(net.now as i64);
        self.came.push(NEVER);
        self.plays.push(NEVER);
        self.rate.push(rate as i64);
        self.bytes.push(bytes as i64);
        self.buffered.push(buffered as i64);
        true
    }

    /// The last one is there now, and played from a time on.
    pub fn came(&mut self, now: u64, plays: u64) {
        if let (Some(came), Some(from)) = (self.came.last_mut(), self.plays.last_mut()) {
            *came = now as i64;
            *from = i64::try_from(plays).unwrap_or(i64::MAX);
        }
    }

    /// All of them.
    #[must_use]
    pub fn columns(&self) -> Columns<'_> {
        Columns {
            asked: &self.asked,
            came: &self.came,
            plays: &self.plays,
            rate: &self.rate,
            bytes: &self.bytes,
            buffered: &self.buffered,
        }
    }
}
