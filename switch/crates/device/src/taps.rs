// SPDX-License-Identifier: Apache-2.0
//! Several traces of one device: each is told of the packets that it wants.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use v1model::trace::{TraceEvent, TraceSink};

/// Traces of a device at a time.
pub const TRACES: usize = 8;

/// Names one trace of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(u64);

struct Tap {
    id: TraceId,
    /// Packets with smaller numbers came in before this trace began.
    from: u64,
    sink: Box<dyn TraceSink + Send>,
}

#[derive(Default)]
struct State {
    taps: [Option<Tap>; TRACES],
    /// Packets that were traced.
    packets: u64,
    /// Traces that were begun.
    begun: u64,
}

/// All traces of a device. The device's thread alone uses it: the lock is for
/// pipelines, which come and go with their ends of it.
///
/// The number of a packet within the pipeline has which traces want it in its
/// lowest bits; the traces see the rest.
#[derive(Clone, Default)]
pub(crate) struct Taps(Arc<Mutex<State>>);

impl fmt::Debug for Taps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Taps").field(&self.count()).finish()
    }
}

impl Taps {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many traces there are.
    pub fn count(&self) -> usize {
        self.state().taps.iter().flatten().count()
    }

    /// Another trace; `None` when there are [`TRACES`].
    pub fn add(&self, sink: Box<dyn TraceSink + Send>) -> Option<TraceId> {
        let mut state = self.state();
        let (id, from) = (TraceId(state.begun), state.packets + 1);
        *state.taps.iter_mut().find(|tap| tap.is_none())? = Some(Tap { id, from, sink });
        state.begun += 1;
        Some(id)
    }

    /// Ends a trace.
    pub fn remove(&self, id: TraceId) {
        let mut state = self.state();
        let mut taps = state.taps.iter_mut();
        if let Some(tap) = taps.find(|tap| tap.as_ref().is_some_and(|tap| tap.id == id)) {
            *tap = None;
        }
    }
}

impl State {
    fn number(&mut self, wanted: u64) -> u64 {
        self.packets += 1;
        self.packets << TRACES | wanted
    }

    /// The traces that want a packet.
    fn wanting(&mut self, packet: u64) -> impl Iterator<Item = &mut Tap> {
        let taps = self.taps.iter_mut().enumerate();
        taps.filter_map(move |(at, tap)| {
            let tap = tap.as_mut()?;
            (packet >> at & 1 != 0 && packet >> TRACES >= tap.from).then_some(tap)
        })
    }
}

impl TraceSink for Taps {
    fn begin(&mut self, now_ns: u64, port: u16, frame: &[u8]) -> Option<u64> {
        let mut state = self.state();
        let mut wanted = 0;
        for (at, tap) in state.taps.iter_mut().enumerate() {
            if let Some(tap) = tap
                && tap.sink.begin(now_ns, port, frame).is_some()
            {
                wanted |= 1 << at;
            }
        }
        (wanted != 0).then(|| state.number(wanted))
    }

    fn copy(&mut self, of: u64) -> u64 {
        let mut state = self.state();
        state.number(of & ((1 << TRACES) - 1))
    }

    fn event(&mut self, packet: u64, now_ns: u64, event: &TraceEvent<'_>) {
        let mut state = self.state();
        let event = match event {
            TraceEvent::Copied { of, kind } => TraceEvent::Copied {
                of: of >> TRACES,
                kind: *kind,
            },
            other => other.clone(),
        };
        for tap in state.wanting(packet) {
            tap.sink.event(packet >> TRACES, now_ns, &event);
        }
    }
}
