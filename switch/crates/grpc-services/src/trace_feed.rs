// SPDX-License-Identifier: Apache-2.0
//! Streams live traces to clients. Devices put text into a bounded queue and never wait. If the
//! client does not keep up, packets are skipped and counted.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Interval, MissedTickBehavior};
use tokio_stream::Stream;
use tonic::Status;
use v1model::trace::{CopyKind, JsonTrace, TextTrace, TraceEvent, TraceFilter, TraceSink};

use crate::proto::docsis::switch::v1 as switch;

/// How many texts may wait for the client.
const QUEUE: usize = 256;
/// The length of a text at which it is put into the queue, bytes. The block of one packet may be
/// longer.
const TEXT: usize = 16 << 10;
/// How many bytes of texts may wait for the client. A single text may be longer.
const WAITING: usize = QUEUE * TEXT;
/// How soon the client is told of skipped packets while there is nothing else to tell.
const SOON: Duration = Duration::from_millis(500);
/// How many packets a second of each device are traced, unless the client asks for another number.
const RATE: u64 = 1000;

/// The state that the devices and the client's stream share.
#[derive(Debug)]
struct Shared {
    skipped: AtomicU64,
    lost: AtomicU64,
    /// How many bytes of texts wait for the client.
    waiting: AtomicUsize,
    /// How many further packets may be traced.
    left: AtomicI64,
    /// How many packets are being traced and have not come to their end.
    open: AtomicI64,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) <= 0 && self.open.load(Ordering::Acquire) <= 0
    }
}

/// The client's end.
#[derive(Debug)]
pub struct Feed {
    queue: mpsc::Receiver<String>,
    shared: Arc<Shared>,
    soon: Interval,
    begun: bool,
    /// Dropped with the stream, which ends the trace.
    _alive: oneshot::Sender<()>,
}

/// The devices' end.
pub struct Source {
    queue: mpsc::Sender<String>,
    shared: Arc<Shared>,
    request: switch::TraceRequest,
}

/// Makes both ends of a trace, and a future that is ready when the client is gone.
pub fn channel(request: switch::TraceRequest) -> (Source, Feed, oneshot::Receiver<()>) {
    let (sender, queue) = mpsc::channel(QUEUE);
    let (_alive, gone) = oneshot::channel();
    let packets = request.packets.and_then(|n| i64::try_from(n).ok());
    let shared = Arc::new(Shared {
        skipped: AtomicU64::new(0),
        lost: AtomicU64::new(0),
        waiting: AtomicUsize::new(0),
        left: AtomicI64::new(packets.unwrap_or(i64::MAX)),
        open: AtomicI64::new(0),
    });
    let mut soon = tokio::time::interval(SOON);
    soon.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let feed = Feed {
        queue,
        shared: Arc::clone(&shared),
        soon,
        begun: false,
        _alive,
    };
    let source = Source {
        queue: sender,
        shared,
        request,
    };
    (source, feed, gone)
}

impl Feed {
    fn message(&self, text: String) -> switch::TraceResponse {
        switch::TraceResponse {
            text,
            skipped_packets: self.shared.skipped.swap(0, Ordering::AcqRel),
            lost_lines: self.shared.lost.swap(0, Ordering::AcqRel),
        }
    }
}

impl Stream for Feed {
    type Item = Result<switch::TraceResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.begun {
            self.begun = true;
            return Poll::Ready(Some(Ok(self.message(String::new()))));
        }
        loop {
            // The counter is read before the queue, so that the text of the last packet is not
            // missed.
            let over = self.shared.is_over();
            match self.queue.poll_recv(cx) {
                Poll::Ready(Some(text)) if text.is_empty() => {}
                Poll::Ready(Some(text)) => {
                    self.shared.waiting.fetch_sub(text.len(), Ordering::AcqRel);
                    return Poll::Ready(Some(Ok(self.message(text))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending if over => return Poll::Ready(None),
                Poll::Pending => match self.soon.poll_tick(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(_) => {
                        let message = self.message(String::new());
                        if message.skipped_packets + message.lost_lines > 0 {
                            return Poll::Ready(Some(Ok(message)));
                        }
                    }
                },
            }
        }
    }
}

impl Source {
    /// Makes the sink of one device. Text names the device if there are several.
    pub fn sink(&self, device: u64, several: bool) -> Box<dyn TraceSink + Send> {
        let output = Outlet {
            queue: self.queue.clone(),
            shared: Arc::clone(&self.shared),
            buffer: Vec::new(),
        };
        let all = TraceFilter::default();
        let form: Box<dyn TraceSink + Send> = match self.request.format() {
            switch::TraceFormat::Json => {
                let mut trace = JsonTrace::new(output, all, u64::MAX);
                trace.set_device(Some(device));
                Box::new(trace)
            }
            _ => {
                let mut trace = TextTrace::new(output, all, u64::MAX);
                trace.set_device(several.then_some(device));
                Box::new(trace)
            }
        };
        Box::new(Tap {
            form,
            queue: self.queue.clone(),
            shared: Arc::clone(&self.shared),
            ports: self.request.ports.clone(),
            rate: self.request.rate.unwrap_or(RATE),
            second: 0,
            in_second: 0,
        })
    }
}

/// A device's trace.
struct Tap {
    form: Box<dyn TraceSink + Send>,
    queue: mpsc::Sender<String>,
    shared: Arc<Shared>,
    ports: Vec<u32>,
    rate: u64,
    second: u64,
    in_second: u64,
}

impl Tap {
    /// Whether the rate and the queue allow another packet.
    fn has_place(&mut self, now_ns: u64) -> bool {
        let second = now_ns / 1_000_000_000;
        if second != self.second {
            self.second = second;
            self.in_second = 0;
        }
        // Half of the queue is kept for the packets that are being traced.
        let place = self.in_second < self.rate && self.queue.capacity() > QUEUE / 2;
        self.in_second += u64::from(place);
        place
    }

    /// Adds so many packets, which may be negative, to those that are being traced.
    fn count(&self, packets: i64) {
        self.shared.open.fetch_add(packets, Ordering::AcqRel);
        if packets < 0 && self.shared.is_over() {
            // This wakes the stream. If the queue is full, the stream is awake anyway.
            let _ = self.queue.try_send(String::new());
        }
    }
}

impl TraceSink for Tap {
    fn begin(&mut self, now_ns: u64, port: u16, frame: &[u8]) -> Option<u64> {
        if !self.ports.is_empty() && !self.ports.contains(&u32::from(port)) {
            return None;
        }
        if self.shared.left.load(Ordering::Acquire) <= 0 {
            return None;
        }
        if !self.has_place(now_ns) {
            self.shared.skipped.fetch_add(1, Ordering::AcqRel);
            return None;
        }
        // The packet is counted as open first, so that the trace does not seem to be over too
        // early.
        self.count(1);
        if self.shared.left.fetch_sub(1, Ordering::AcqRel) <= 0 {
            self.count(-1);
            return None;
        }
        let number = self.form.begin(now_ns, port, frame);
        if number.is_none() {
            self.count(-1);
        }
        number
    }

    fn copy(&mut self, of: u64) -> u64 {
        self.form.copy(of)
    }

    fn event(&mut self, packet: u64, now_ns: u64, event: &TraceEvent<'_>) {
        match event {
            // Replicas were counted with their group.
            TraceEvent::Copied {
                kind: CopyKind::Replica,
                ..
            } => {}
            TraceEvent::Copied { .. } => self.count(1),
            TraceEvent::Replicated { copies, .. } => self.count(*copies as i64),
            _ => {}
        }
        self.form.event(packet, now_ns, event);
        if event.is_last() {
            self.count(-1);
        }
    }
}

/// Puts text into the queue, as whole lines.
struct Outlet {
    queue: mpsc::Sender<String>,
    shared: Arc<Shared>,
    buffer: Vec<u8>,
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() > TEXT && self.buffer.ends_with(b"\n") {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&self.buffer).into_owned();
        // A buffer that one long block has enlarged does not stay so long.
        self.buffer.clear();
        self.buffer.shrink_to(2 * TEXT);
        let bytes = text.len();
        let waiting = self.shared.waiting.fetch_add(bytes, Ordering::AcqRel);
        let refused = if waiting > 0 && waiting + bytes > WAITING {
            Err(mpsc::error::TrySendError::Full(text))
        } else {
            self.queue.try_send(text)
        };
        let Err(refused) = refused else {
            return Ok(());
        };
        self.shared.waiting.fetch_sub(bytes, Ordering::AcqRel);
        match refused {
            mpsc::error::TrySendError::Full(text) => {
                let lines = text.matches('\n').count();
                self.shared.lost.fetch_add(lines as u64, Ordering::AcqRel);
                Ok(())
            }
            mpsc::error::TrySendError::Closed(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_stream::StreamExt;

    const RECEIVED: TraceEvent<'_> = TraceEvent::Received {
        port: 1,
        length: 64,
    };
    const SENT: TraceEvent<'_> = TraceEvent::Sent {
        port: 2,
        length: 64,
    };

    fn packet(tap: &mut dyn TraceSink, now_ns: u64, port: u16) -> bool {
        let Some(number) = tap.begin(now_ns, port, &[0; 64]) else {
            return false;
        };
        tap.event(number, now_ns, &RECEIVED);
        tap.event(number, now_ns, &SENT);
        true
    }

    fn run(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn a_client_that_does_not_read_is_passed_over_and_told() {
        run(async {
            let request = switch::TraceRequest {
                rate: Some(u64::MAX),
                ..Default::default()
            };
            let (source, mut feed, _gone) = channel(request);
            let mut tap = source.sink(1, false);
            let begun = (0..1000).filter(|n| packet(tap.as_mut(), *n, 1)).count();
            assert_eq!(begun, QUEUE / 2);
            let mut told = 0;
            let first = feed.next().await.unwrap().unwrap();
            assert_eq!(first.text, "");
            assert_eq!(first.skipped_packets, 1000 - begun as u64);
            for _ in 0..begun {
                let message = feed.next().await.unwrap().unwrap();
                told += message.text.matches("packet ").count();
                assert_eq!(message.skipped_packets + message.lost_lines, 0);
            }
            assert_eq!(told, begun);
            // The queue has a place again, and the stream ends when the devices do.
            assert!(packet(tap.as_mut(), 2000, 1));
            drop((tap, source));
            assert!(feed.next().await.is_some());
            assert!(feed.next().await.is_none());
        });
    }

    #[test]
    fn long_texts_are_bounded_by_their_bytes() {
        run(async {
            let (source, mut feed, _gone) = channel(switch::TraceRequest::default());
            let mut outlet = Outlet {
                queue: source.queue.clone(),
                shared: Arc::clone(&source.shared),
                buffer: Vec::new(),
            };
            let mut block = vec![b'x'; WAITING / 3];
            block.push(b'\n');
            // Two fit, and one that is longer than all of them is taken when nothing waits.
            (0..5).for_each(|_| outlet.write_all(&block).unwrap());
            assert_eq!(feed.next().await.unwrap().unwrap().lost_lines, 3);
            for _ in 0..2 {
                assert_eq!(feed.next().await.unwrap().unwrap().text.len(), block.len());
            }
            let long = [&block[..], &block, &block, &block].concat();
            (0..2).for_each(|_| outlet.write_all(&long).unwrap());
            let message = feed.next().await.unwrap().unwrap();
            assert_eq!((message.text.len(), message.lost_lines), (long.len(), 4));
            assert_eq!(source.shared.waiting.load(Ordering::Relaxed), 0);
            assert!(outlet.buffer.capacity() <= 2 * TEXT);
        });
    }

    #[test]
    fn ports_rate_and_number_are_chosen() {
        run(async {
            let request = switch::TraceRequest {
                ports: vec![2, 3],
                rate: Some(2),
                packets: Some(5),
                format: switch::TraceFormat::Json.into(),
                ..Default::default()
            };
            let (source, mut feed, _gone) = channel(request);
            let mut tap = source.sink(7, true);
            let second = 1_000_000_000;
            let mut at = |now, port| packet(tap.as_mut(), now, port);
            assert!(!at(0, 1), "another port");
            assert!(at(0, 2) && at(0, 3) && !at(0, 2), "two in a second");
            assert!(at(second, 2) && at(second, 2));
            assert!(at(2 * second, 2) && !at(2 * second, 2), "five in all");
            let mut lines = 0;
            while let Some(message) = feed.next().await {
                for line in message.unwrap().text.lines() {
                    assert!(line.contains("\"device\":7"), "{line}");
                    lines += 1;
                }
            }
            assert_eq!(lines, 10);
        });
    }

    #[test]
    fn copies_are_waited_for() {
        run(async {
            let request = switch::TraceRequest {
                packets: Some(1),
                ..Default::default()
            };
            let (source, mut feed, mut gone) = channel(request);
            let mut tap = source.sink(1, false);
            let number = tap.begin(0, 1, &[0; 64]).unwrap();
            tap.event(number, 0, &RECEIVED);
            tap.event(
                number,
                0,
                &TraceEvent::Replicated {
                    group: 1,
                    copies: 2,
                },
            );
            for copy in [1, 2] {
                let kind = CopyKind::Replica;
                tap.event(number + copy, 0, &TraceEvent::Copied { of: number, kind });
            }
            tap.event(number + 1, 0, &SENT);
            assert!(!source.shared.is_over());
            tap.event(number + 2, 0, &SENT);
            assert!(source.shared.is_over());
            assert!(
                gone.try_recv()
                    .is_err_and(|e| e == oneshot::error::TryRecvError::Empty)
            );
            let mut told = String::new();
            while let Some(message) = feed.next().await {
                told += &message.unwrap().text;
            }
            assert_eq!(told.matches("sent through port 2").count(), 2, "{told}");
            drop(feed);
            assert!(gone.await.is_err());
        });
    }
}
