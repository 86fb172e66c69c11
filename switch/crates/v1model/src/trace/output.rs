// SPDX-License-Identifier: Apache-2.0
//! Decides which packets are traced, and how much is written.

use std::io::{ErrorKind, Write};

/// Which packets to trace. Written as `port=1,port=2,packets=100,rate=10`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFilter {
    /// Only packets received from these ports; empty for all.
    pub ports: Vec<u16>,
    /// At most so many packets (copies come on top).
    pub packets: Option<u64>,
    /// At most so many packets in each second of the device's clock.
    pub rate: Option<u64>,
}

impl std::str::FromStr for TraceFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut filter = TraceFilter::default();
        for term in text.split(',').filter(|term| !term.is_empty()) {
            let bad = || {
                format!("`{term}` is no term of a trace filter; give port=N, packets=N or rate=N")
            };
            let (name, number) = term.split_once('=').ok_or_else(bad)?;
            match name {
                "port" => filter.ports.push(number.parse().map_err(|_| bad())?),
                "packets" => filter.packets = Some(number.parse().map_err(|_| bad())?),
                "rate" => filter.rate = Some(number.parse().map_err(|_| bad())?),
                _ => return Err(bad()),
            }
        }
        Ok(filter)
    }
}

/// Numbers the packets that a filter lets through.
pub(super) struct Choice {
    filter: TraceFilter,
    next: u64,
    begun: u64,
    second: u64,
    in_second: u64,
}

impl Choice {
    pub fn new(filter: TraceFilter) -> Self {
        Choice {
            filter,
            next: 1,
            begun: 0,
            second: 0,
            in_second: 0,
        }
    }

    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub fn begin(&mut self, now_ns: u64, port: u16) -> Option<u64> {
        let filter = &self.filter;
        if !filter.ports.is_empty() && !filter.ports.contains(&port)
            || filter.packets.is_some_and(|most| self.begun >= most)
        {
            return None;
        }
        if let Some(rate) = filter.rate {
            let second = now_ns / 1_000_000_000;
            if second != self.second {
                self.second = second;
                self.in_second = 0;
            }
            if self.in_second >= rate {
                return None;
            }
            self.in_second += 1;
        }
        self.begun += 1;
        Some(self.number())
    }
}

/// A writer that takes so many bytes and then no more.
pub(super) struct TraceOutput<W: Write> {
    output: W,
    left: u64,
    failed: bool,
    lost: u64,
}

impl<W: Write> TraceOutput<W> {
    pub fn new(output: W, most_bytes: u64) -> Self {
        TraceOutput {
            output,
            left: most_bytes,
            failed: false,
            lost: 0,
        }
    }

    /// Whether nothing more is written: it has its length, or writing failed.
    pub fn full(&self) -> bool {
        self.failed
    }

    /// How many texts the writer had no room for.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes the whole text, or ends the trace. A text for which the writer has no room
    /// ([`ErrorKind::WouldBlock`]) is left out.
    pub fn write(&mut self, text: &str) {
        if self.failed {
            return;
        }
        match self.left.checked_sub(text.len() as u64) {
            Some(left) => match self.output.write_all(text.as_bytes()) {
                Ok(()) => self.left = left,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.lost += 1,
                Err(_) => self.failed = true,
            },
            None => self.failed = true,
        }
    }

    pub fn flush(&mut self) {
        self.failed |= self.output.flush().is_err();
    }
}
