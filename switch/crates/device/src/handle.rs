// SPDX-License-Identifier: Apache-2.0
//! How other threads reach a device: closures that its own thread runs between
//! packets. All that one closure does is atomic for the data plane.

use crate::{Device, DigestList};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use v1model::{ActionCall, EntryAction, LoadOptions, TableEntry, TableId};

type Request = Box<dyn FnOnce(&mut Device, u64) + Send>;

/// The device's thread has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceGone;

impl fmt::Display for DeviceGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the device has stopped")
    }
}

impl std::error::Error for DeviceGone {}

/// Reaches one device from any thread.
#[derive(Clone)]
pub struct DeviceHandle {
    device_id: u64,
    cpu_port: Option<u16>,
    load: LoadOptions,
    requests: mpsc::Sender<Request>,
    wake: Arc<dyn Fn() + Send + Sync>,
    /// Wakes the device's own thread.
    wake_from_afar: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for DeviceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceHandle")
            .field("device_id", &self.device_id)
            .finish_non_exhaustive()
    }
}

impl DeviceHandle {
    /// P4Runtime's device_id.
    #[must_use]
    pub fn device_id(&self) -> u64 {
        self.device_id
    }

    /// The port of packet-in and packet-out, if the device has one.
    #[must_use]
    pub fn cpu_port(&self) -> Option<u16> {
        self.cpu_port
    }

    /// How the device's programs are to be understood; the default until set.
    #[must_use]
    pub fn load_options(&self) -> LoadOptions {
        self.load
    }

    /// Sets [`Self::load_options`], before the handle is handed on.
    #[must_use]
    pub fn with_load_options(self, load: LoadOptions) -> Self {
        Self { load, ..self }
    }

    /// Sets what wakes the device's own thread for [`Self::call_from_afar`], before the handle is
    /// handed on; the `wake` of [`channel`] until set.
    #[must_use]
    pub fn with_wake_from_afar(self, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let wake_from_afar = Arc::new(wake);
        Self {
            wake_from_afar,
            ..self
        }
    }

    /// Runs `f` on the device's thread, between two packets, with the device's
    /// clock in nanoseconds. Waits while the device's queue of requests is full.
    /// Keep `f` short: packets wait for it.
    ///
    /// # Errors
    /// [`DeviceGone`].
    pub async fn call<R, F>(&self, f: F) -> Result<R, DeviceGone>
    where
        R: Send + 'static,
        F: FnOnce(&mut Device, u64) -> R + Send + 'static,
    {
        self.call_and(&*self.wake, f).await
    }

    /// As [`Self::call`], for one of many calls that are long together: it runs on the device's own
    /// thread and never on this one, which may have better to do, or be put aside for others in the
    /// middle of it while packets wait.
    ///
    /// # Errors
    /// [`DeviceGone`].
    pub async fn call_from_afar<R, F>(&self, f: F) -> Result<R, DeviceGone>
    where
        R: Send + 'static,
        F: FnOnce(&mut Device, u64) -> R + Send + 'static,
    {
        self.call_and(&*self.wake_from_afar, f).await
    }

    async fn call_and<R, F>(&self, wake: &(dyn Fn() + Send + Sync), f: F) -> Result<R, DeviceGone>
    where
        R: Send + 'static,
        F: FnOnce(&mut Device, u64) -> R + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let request: Request = Box::new(move |device, now| {
            // Nobody waits any more: the caller was cancelled.
            let _ = reply.send(f(device, now));
        });
        self.requests.send(request).await.map_err(|_| DeviceGone)?;
        wake();
        answer.await.map_err(|_| DeviceGone)
    }
}

/// The device's end of its handles.
pub struct Requests {
    queue: mpsc::Receiver<Request>,
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").finish_non_exhaustive()
    }
}

impl Requests {
    /// Runs the next request, if there is one.
    pub fn run_one(&mut self, device: &mut Device, now: u64) -> bool {
        match self.queue.try_recv() {
            Ok(request) => {
                request(device, now);
                true
            }
            Err(_) => false,
        }
    }

    /// Waits for a request and runs it; false when all handles are gone. For
    /// devices without packets, as in tests; not within an async runtime.
    pub fn run_blocking(&mut self, device: &mut Device, now: impl FnOnce() -> u64) -> bool {
        match self.queue.blocking_recv() {
            Some(request) => {
                request(device, now());
                true
            }
            None => false,
        }
    }
}

/// What a device tells the controller.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A frame that left through the CPU port, packet-in header in front.
    PacketIn(Vec<u8>),
    /// Digests, to be acknowledged with [`Device::ack_digest`].
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

/// What a device tells the controller, in order.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Receiver<Event>,
    waiting: Arc<AtomicUsize>,
}

impl Events {
    fn taken(&self, event: Event) -> Event {
        self.waiting.fetch_sub(event.bytes(), Ordering::Relaxed);
        event
    }

    /// Waits for the next event; `None` when the device is gone.
    pub async fn recv(&mut self) -> Option<Event> {
        let event = self.queue.recv().await?;
        Some(self.taken(event))
    }

    /// The next event, if there is one.
    ///
    /// # Errors
    /// There is none, or the device is gone.
    pub fn try_recv(&mut self) -> Result<Event, TryRecvError> {
        let event = self.queue.try_recv()?;
        Ok(self.taken(event))
    }
}

/// The device's end of [`Events`]. It never blocks.
#[derive(Debug, Clone)]
pub struct EventSender {
    queue: mpsc::Sender<Event>,
    /// Bytes of memory of the events that nobody has taken yet.
    waiting: Arc<AtomicUsize>,
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
        let sent = before + bytes <= EVENT_BYTES && self.queue.try_send(event).is_ok();
        if !sent {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }
}

/// Requests that may wait for a device's thread.
pub const REQUESTS: usize = 256;
/// Events that may wait for the server.
pub const EVENTS: usize = 4096;
/// Bytes of memory that they may take.
pub const EVENT_BYTES: usize = 16 << 20;

/// Both ends of a device's requests and events. `wake` is called after each
/// request, to end the sleep of the device's thread.
pub fn channel(
    device_id: u64,
    cpu_port: Option<u16>,
    wake: impl Fn() + Send + Sync + 'static,
) -> (DeviceHandle, Requests, EventSender, Events) {
    let (requests, queue) = mpsc::channel(REQUESTS);
    let (sender, events) = mpsc::channel(EVENTS);
    let waiting = Arc::new(AtomicUsize::new(0));
    let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(wake);
    let handle = DeviceHandle {
        device_id,
        cpu_port,
        load: LoadOptions::default(),
        requests,
        wake_from_afar: Arc::clone(&wake),
        wake,
    };
    (
        handle,
        Requests { queue },
        EventSender {
            queue: sender,
            waiting: Arc::clone(&waiting),
        },
        Events {
            queue: events,
            waiting,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use v1model::DigestId;

    #[test]
    fn events_are_bounded_in_memory_too() {
        let (_handle, _requests, sender, mut events) = channel(0, None, || {});
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
        assert_eq!(events.try_recv(), Ok(digests()));
        assert!(sender.send(digests()));
        while events.try_recv().is_ok() {}
        assert_eq!(sender.waiting.load(Ordering::Relaxed), 0);
        let frames = (0..10_000).filter(|_| sender.packet_in(&[])).count();
        assert_eq!(frames, EVENTS);
    }
}
