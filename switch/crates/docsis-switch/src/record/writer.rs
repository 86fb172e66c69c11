// SPDX-License-Identifier: Apache-2.0
//! The thread that writes a recording to the disk.

use crate::privileges;
use crate::scheduling;
use recording::format::Reason;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use tracing::{error, info, warn};

/// Chunks that are kept to be filled again.
const SPARE: usize = 8;

/// How a recording ends: its last bytes, why, and the device's time.
type Last = (Vec<u8>, Reason, u64);

/// The thread.
#[derive(Debug)]
pub struct Writer {
    thread: JoinHandle<()>,
}

/// The way to it. It never blocks.
#[derive(Debug)]
pub struct Outlet {
    chunks: SyncSender<Vec<u8>>,
    spares: Receiver<Vec<u8>>,
    last: Arc<Mutex<Option<Last>>>,
    written: u64,
}

impl Writer {
    /// Writes the beginning, and then what comes out of the outlet, where `queue` chunks may wait.
    ///
    /// # Errors
    /// One sentence: there is no thread for it.
    pub fn start(
        out: impl Write + Send + 'static,
        name: String,
        header: Vec<u8>,
        queue: usize,
    ) -> Result<(Self, Outlet), String> {
        let (chunks, filled) = sync_channel::<Vec<u8>>(queue);
        let (emptied, spares) = sync_channel(SPARE);
        let last: Arc<Mutex<Option<Last>>> = Arc::default();
        let end = Arc::clone(&last);
        let written = header.len() as u64;
        let run = move || {
            // A switch may run under SCHED_RR as a whole: what forwards goes first.
            scheduling::ordinary();
            privileges::none();
            let mut file = Sink { out, bytes: 0 };
            let mut result = file.write(&header);
            // It ends with the outlet. Where it cannot write it says so then, and takes what
            // comes until then.
            for mut chunk in filled {
                result = result.and_then(|()| file.write(&chunk));
                chunk.clear();
                let _ = emptied.try_send(chunk);
            }
            let last = end.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (bytes, reason, now) = last.unwrap_or((Vec::new(), Reason::Overrun, 0));
            result = result.and_then(|()| file.write(&bytes));
            result = result.and_then(|()| file.out.flush());
            report(&name, file.bytes, reason, now, result);
        };
        let thread = Builder::new()
            .name("record".into())
            .spawn(run)
            .map_err(|error| format!("no thread for the recording: {error}"))?;
        let outlet = Outlet {
            chunks,
            spares,
            last,
            written,
        };
        Ok((Self { thread }, outlet))
    }

    /// Waits until all is written.
    pub fn join(self) {
        if self.thread.join().is_err() {
            error!("the recording's thread has failed");
        }
    }
}

struct Sink<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Says what came of it.
fn report(name: &str, bytes: u64, reason: Reason, now: u64, result: io::Result<()>) {
    let seconds = now as f64 / 1e9;
    match (result, reason) {
        (Err(error), _) => error!(
            "the recording {name} is cut off after {bytes} bytes, as it cannot be written: \
             {error}; the switch went on"
        ),
        (Ok(()), Reason::Stopped) => info!("the recording {name} has {bytes} bytes"),
        (Ok(()), Reason::Limit) => warn!(
            "the recording {name} ends at {seconds:.3} s: with {bytes} bytes it is as long as \
             --record-limit-mib lets it be; the switch goes on"
        ),
        (Ok(()), Reason::Overrun) => warn!(
            "the recording {name} ends at {seconds:.3} s, with {bytes} bytes: the disk did not \
             keep up; the switch goes on"
        ),
    }
}

impl Outlet {
    /// Bytes that are in the file before everything else.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// An empty buffer.
    pub fn spare(&mut self, capacity: usize) -> Vec<u8> {
        let spare = self.spares.try_recv();
        spare.unwrap_or_else(|_| Vec::with_capacity(capacity))
    }

    /// Hands bytes to the thread. False: too many wait already, and these are lost.
    pub fn hand_over(&mut self, chunk: Vec<u8>) -> bool {
        self.chunks.try_send(chunk).is_ok()
    }

    /// Nothing follows these bytes.
    pub fn end(self, bytes: Vec<u8>, reason: Reason, now: u64) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((bytes, reason, now));
    }
}
