// SPDX-License-Identifier: Apache-2.0
//! Events of a device on their way to the controller, bounded in number and memory.

use crate::digest::DigestList;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use v1model::{ActionCall, EntryAction, TableEntry, TableId};

/// Events that may wait for the server.
pub const EVENTS: usize = 4096;
/// Bytes of memory that they may take.
pub const EVENT_BYTES: usize = 16 << 20;

/// What a device tells the controller.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A frame that left through the CPU port, packet-in header in front.
    PacketIn(Vec<u8>),
    /// Digests, to be acknowledged with [`Device::ack_digest`](crate::Device::ack_digest).
    Digests(DigestList),
    /// Table entries that nothing has matched for their idle timeout.
    IdleTimeouts(Vec<(TableId, TableEntry)>),
}

impl Event {
    /// The memory that it takes, bytes.
    fn bytes(&self) -> usize {
        let beside = match self {
            Event::PacketIn(frame) => frame.capacity(),
            Event::Digests(list) => list.bytes(),
            Event::IdleTimeouts(expired) => {
                let entries = expired.iter().map(|(_, entry)| entry_bytes(entry));
                entries.sum()
            }
        };
        size_of::<Event>() + beside
    }
}

fn entry_bytes(entry: &TableEntry) -> usize {
    let call = |call: &ActionCall| size_of_val(call.args.as_slice());
    let action = match &entry.action {
        EntryAction::Call(own) => call(own),
        EntryAction::OneShot(calls) => {
            let args = calls.iter().map(|weighted| call(&weighted.call));
            size_of_val(calls.as_slice()) + args.sum::<usize>()
        }
        EntryAction::Member(_) | EntryAction::Group(_) => 0,
    };
    let key = size_of_val(entry.key.matches.as_slice());
    size_of::<(TableId, TableEntry)>() + key + action + entry.options.metadata.len()
}

/// Tells the events of one pipeline from those of another one that the device ran before or after
/// it. The first is the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Generation(u64);

/// The generation of the events that a device sends now.
#[derive(Debug, Clone, Default)]
pub struct Generations(Arc<AtomicU64>);

impl Generations {
    /// Begins another generation, in the same closure on the device's thread that installs another
    /// pipeline, so that no event comes in between.
    #[must_use]
    pub fn begin(&self) -> Generation {
        Generation(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn present(&self) -> Generation {
        Generation(self.0.load(Ordering::Relaxed))
    }
}

/// The events that a device sends to the controller, in order. Each has its generation.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Receiver<(Generation, Event)>,
    waiting: Arc<AtomicUsize>,
}

impl Events {
    fn taken(&self, sent: (Generation, Event)) -> (Generation, Event) {
        self.waiting.fetch_sub(sent.1.bytes(), Ordering::Relaxed);
        sent
    }

    /// Waits for the next event; `None` when the device is gone.
    pub async fn recv(&mut self) -> Option<(Generation, Event)> {
        let sent = self.queue.recv().await?;
        Some(self.taken(sent))
    }

    /// The next event, if there is one.
    ///
    /// # Errors
    /// There is none, or the device is gone.
    pub fn try_recv(&mut self) -> Result<(Generation, Event), TryRecvError> {
        let sent = self.queue.try_recv()?;
        Ok(self.taken(sent))
    }
}

/// The device's end of [`Events`]. It never blocks.
#[derive(Debug, Clone)]
pub struct EventSender {
    queue: mpsc::Sender<(Generation, Event)>,
    /// Bytes of memory of the events that nobody has taken yet.
    waiting: Arc<AtomicUsize>,
    generations: Generations,
}

impl EventSender {
    /// Hands over a frame; false when the queue is full or nobody reads it.
    #[must_use]
    pub fn packet_in(&self, frame: &[u8]) -> bool {
        // Before the frame is copied.
        self.queue.capacity() > 0 && self.send(Event::PacketIn(frame.to_vec()))
    }

    /// Hands over an event; false when the queue is full, in number or in memory, or nobody
    /// reads it.
    #[must_use]
    pub fn send(&self, event: Event) -> bool {
        let bytes = event.bytes();
        let before = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let tagged = (self.generations.present(), event);
        let sent = before + bytes <= EVENT_BYTES && self.queue.try_send(tagged).is_ok();
        if !sent {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }
}

/// Both ends of a device's events, which belong to the present one of `generations`.
pub fn channel(generations: Generations) -> (EventSender, Events) {
    let (sender, queue) = mpsc::channel(EVENTS);
    let waiting = Arc::new(AtomicUsize::new(0));
    let sender = EventSender {
        queue: sender,
        waiting: Arc::clone(&waiting),
        generations,
    };
    (sender, Events { queue, waiting })
}

#[cfg(test)]
mod tests {
    use super::*;
    use v1model::DigestId;

    #[test]
    fn events_are_bounded_in_memory_too() {
        let (sender, mut events) = channel(Generations::default());
        let digests = || {
            Event::Digests(DigestList {
                digest: DigestId(0),
                list_id: 1,
                timestamp_ns: 0,
                samples: vec![vec![0; 100]; 1000],
            })
        };
        let bytes = digests().bytes();
        assert!(bytes > 1_600_000, "{bytes}");
        let sent = (0..100).filter(|_| sender.send(digests())).count();
        assert_eq!(sent, EVENT_BYTES / bytes);
        assert!(sender.packet_in(&[0; 100]));
        // What is taken makes room.
        assert_eq!(events.try_recv(), Ok((Generation::default(), digests())));
        assert!(sender.send(digests()));
        while events.try_recv().is_ok() {}
        assert_eq!(sender.waiting.load(Ordering::Relaxed), 0);
        let frames = (0..10_000).filter(|_| sender.packet_in(&[])).count();
        assert_eq!(frames, EVENTS);
    }

    #[test]
    fn an_event_has_the_generation_in_which_it_was_sent() {
        let generations = Generations::default();
        let (sender, mut events) = channel(generations.clone());
        assert!(sender.packet_in(&[1]));
        let second = generations.begin();
        assert!(sender.packet_in(&[2]));
        let third = generations.begin();
        assert!(sender.packet_in(&[3]));
        for (generation, byte) in [(Generation::default(), 1), (second, 2), (third, 3)] {
            let event = Event::PacketIn(vec![byte]);
            assert_eq!(events.try_recv(), Ok((generation, event)));
        }
    }
}
