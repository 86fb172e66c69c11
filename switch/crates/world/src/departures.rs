// SPDX-License-Identifier: Apache-2.0
//! When each frame left its service flow's queue, and how long it was.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use v1model::trace::{TraceEvent, TraceSink};

use crate::frame::frame_length;

/// Departures that are kept until somebody takes them.
pub const MOST: usize = 1 << 22;

/// Packets whose queues are known: more than a device holds.
const MOST_WAITING: usize = 1 << 17;

/// A frame that left a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When, nanoseconds.
    pub at: u64,
    /// The port.
    pub port: u16,
    /// The queue there.
    pub queue: u32,
    /// Bytes to the end of its CRC.
    pub length: u32,
}

#[derive(Debug, Default)]
struct Kept {
    departures: Vec<Departure>,
    /// More have left than are kept.
    full: bool,
}

/// Departures of a device, whichever pipelines it runs.
#[derive(Clone, Debug, Default)]
pub struct Departures(Arc<Mutex<Kept>>);

impl Departures {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has left since the last call; `None` where that was more than [`MOST`].
    #[must_use]
    pub fn take(&self) -> Option<Vec<Departure>> {
        let mut kept = self.kept();
        let departures = std::mem::take(&mut kept.departures);
        (!std::mem::take(&mut kept.full)).then_some(departures)
    }

    /// What a device's taps tell.
    #[must_use]
    pub fn sink(&self) -> Box<dyn TraceSink + Send> {
        Box::new(Watching {
            departures: self.clone(),
            queues: BTreeMap::new(),
        })
    }
}

/// The queue in which each packet waits, by its number: later packets have greater ones.
struct Watching {
    departures: Departures,
    queues: BTreeMap<u64, u32>,
}

impl TraceSink for Watching {
    fn begin(&mut self, _now_ns: u64, _port: u16, _frame: &[u8]) -> Option<u64> {
        // The device's taps have numbers of their own.
        Some(1)
    }

    fn copy(&mut self, of: u64) -> u64 {
        of
    }

    fn event(&mut self, packet: u64, now_ns: u64, event: &TraceEvent<'_>) {
        match *event {
            TraceEvent::Queued { queue, .. } => {
                self.queues.insert(packet, queue);
                // A packet that was taken out of its queue has no last event.
                if self.queues.len() > MOST_WAITING {
                    self.queues.pop_first();
                }
            }
            TraceEvent::Sent { port, length } => {
                let Some(queue) = self.queues.remove(&packet) else {
                    return;
                };
                let mut kept = self.departures.kept();
                if kept.departures.len() < MOST {
                    kept.departures.push(Departure {
                        at: now_ns,
                        port,
                        queue,
                        length: frame_length(length) as u32,
                    });
                } else {
                    kept.full = true;
                }
            }
            TraceEvent::Dropped(_) => {
                self.queues.remove(&packet);
            }
            _ => {}
        }
    }
}
