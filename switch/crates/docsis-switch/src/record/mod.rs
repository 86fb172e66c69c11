// SPDX-License-Identifier: Apache-2.0
//! Records the device's inputs and outputs (`--record`). The thread that forwards puts records
//! into memory, and another one writes them to the disk. When that one does not keep up, or the
//! file has reached its limit, the recording ends and the switch goes on.

mod journal;
#[cfg(test)]
mod tests;
mod writer;

use crate::lock::Lock;
use crate::output_file;
use clap::Args;
use device::{Device, Drops, Event};
use recording::format::{End, Header, Output, Place, Reason, Sent, Told};
use recording::{Encoder, hash, hash_of_event, hash_of_state};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use writer::{Outlet, Writer};

/// Bytes that are handed to the writer at a time.
const CHUNK: usize = 256 << 10;
/// Chunks that may wait for the disk: 64 MiB.
const QUEUE: usize = 256;
/// Bytes that the last record may take.
const END: u64 = 64;

/// What is recorded, and where.
#[derive(Debug, Args, Clone)]
pub struct RecordArgs {
    /// Record what the device is given and what it gives, to the nanosecond, for
    /// `docsis-switch replay`: frames with their stamps, requests, jumps of time. For one
    /// device with the docsis traffic manager.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Bytes that the recording may have, in MiB; it ends there and the switch goes on.
    #[arg(long, value_name = "MIB", default_value_t = 1024, requires = "record",
          value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub record_limit_mib: u64,
}

/// Where a recording goes.
#[derive(Debug)]
pub struct Destination {
    /// For messages.
    pub name: String,
    /// Bytes that it may have.
    pub limit: u64,
    file: File,
}

impl RecordArgs {
    /// Creates the file, if one is asked for.
    ///
    /// # Errors
    /// One sentence that names it.
    pub fn open(&self) -> Result<Option<Destination>, String> {
        let Some(path) = &self.record else {
            return Ok(None);
        };
        let name = path.display().to_string();
        let file = output_file::create(path)
            .map_err(|error| format!("the recording {name} cannot be written: {error}"))?;
        Ok(Some(Destination {
            name,
            limit: self.record_limit_mib << 20,
            file,
        }))
    }
}

/// A recording that goes on. Its end is written when this is dropped or the device has ended,
/// whichever comes first.
#[derive(Debug)]
pub struct Recording {
    recorder: Arc<Recorder>,
    writer: Writer,
}

impl Recording {
    /// Begins one.
    ///
    /// # Errors
    /// One sentence: there is no thread for it.
    pub fn begin(to: Destination, header: &Header) -> Result<Self, String> {
        let Destination { name, limit, file } = to;
        Self::begin_in(file, name, limit, QUEUE, header)
    }

    fn begin_in(
        out: impl Write + Send + 'static,
        name: String,
        limit: u64,
        queue: usize,
        header: &Header,
    ) -> Result<Self, String> {
        let (writer, outlet) = Writer::start(out, name, Encoder::header(header), queue)?;
        let left = limit.saturating_sub(END + outlet.written());
        Ok(Self {
            recorder: Arc::new(Recorder::new(outlet, left)),
            writer,
        })
    }

    /// Who writes records.
    pub fn recorder(&self) -> Arc<Recorder> {
        Arc::clone(&self.recorder)
    }

    /// Waits until all is written, and says what came of it.
    pub fn close(self) {
        self.recorder.give_up();
        self.writer.join();
    }
}

/// Takes what is to be recorded.
pub struct Recorder {
    /// Threads of different priority use it.
    state: Lock<State>,
    requests: AtomicU64,
    streams: AtomicU64,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

struct State {
    encoder: Encoder,
    /// Records that have not been handed over.
    chunk: Vec<u8>,
    /// [`Encoder::last_time`] at the beginning of the chunk.
    handed_over: u64,
    /// `None` after the end.
    outlet: Option<Outlet>,
    /// Bytes that the file may yet have, the chunk included.
    left: u64,
    place: Place,
    drops: Drops,
    /// The latest time in the recording.
    now: u64,
}

impl State {
    /// Adds a record, or ends the recording where the file would be too long.
    fn record(&mut self, write: impl FnOnce(&mut Encoder, &mut Vec<u8>)) {
        if self.outlet.is_none() {
            return;
        }
        let (length, last) = (self.chunk.len(), self.encoder.last_time());
        write(&mut self.encoder, &mut self.chunk);
        if self.chunk.len() as u64 > self.left {
            self.chunk.truncate(length);
            self.encoder.go_back(last);
            self.end(Reason::Limit, None);
        } else if self.chunk.len() >= CHUNK {
            self.hand_over();
        }
    }

    /// A record that was made elsewhere, as it is long.
    fn record_made(&mut self, record: Vec<u8>) {
        if record.len() < CHUNK / 4 {
            self.record(|_, chunk| chunk.extend_from_slice(&record));
            return;
        }
        if self.outlet.is_none() {
            return;
        }
        if (self.chunk.len() + record.len()) as u64 > self.left {
            self.end(Reason::Limit, None);
            return;
        }
        self.hand_over();
        if self.outlet.is_some() {
            self.chunk = record;
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let Some(outlet) = &mut self.outlet else {
            return;
        };
        let spare = outlet.spare(CHUNK + (CHUNK >> 2));
        let chunk = std::mem::replace(&mut self.chunk, spare);
        let length = chunk.len() as u64;
        if outlet.hand_over(chunk) {
            self.left -= length;
            self.handed_over = self.encoder.last_time();
        } else {
            self.encoder.go_back(self.handed_over);
            self.end(Reason::Overrun, None);
        }
    }

    /// Nothing more is recorded.
    fn end(&mut self, reason: Reason, state: Option<u64>) {
        if let Some(outlet) = self.outlet.take() {
            let end = End {
                reason,
                now: self.now,
                place: self.place,
                state,
            };
            self.encoder.end(&mut self.chunk, &end);
            outlet.end(std::mem::take(&mut self.chunk), reason, self.now);
        }
    }

    fn look_at_drops(&mut self, device: &Device) {
        let drops = device.drops();
        if drops.total() == self.drops.total() {
            return;
        }
        let at = device.time();
        for (place, frames) in drops.since(std::mem::replace(&mut self.drops, drops)) {
            let dropped = Output::Dropped { at, place, frames };
            self.record(|encoder, out| encoder.output(out, &dropped));
        }
    }
}

impl Recorder {
    fn new(outlet: Outlet, left: u64) -> Self {
        Self {
            state: Lock::new(State {
                encoder: Encoder::default(),
                chunk: Vec::with_capacity(CHUNK + (CHUNK >> 2)),
                handed_over: 0,
                outlet: Some(outlet),
                left,
                place: Place::default(),
                drops: Drops::default(),
                now: 0,
            }),
            requests: AtomicU64::new(0),
            streams: AtomicU64::new(0),
        }
    }

    /// A frame reaches a port, and the device is about to have it.
    pub fn arrived(&self, at: u64, port: u16, frame: &[u8]) {
        let mut state = self.state.lock();
        state.now = state.now.max(at);
        state.record(|encoder, out| encoder.arrived(out, at, port, frame));
    }

    /// A frame is too long to be received.
    pub fn too_long(&self, length: usize) {
        let mut state = self.state.lock();
        state.record(|encoder, out| encoder.too_long(out, length as u64));
    }

    /// The device has had something: what it dropped of it.
    pub fn look_at_drops(&self, device: &Device) {
        self.state.lock().look_at_drops(device);
    }

    /// The device has made a step towards `until`.
    pub fn stepped(&self, until: u64, device: &Device) {
        let mut state = self.state.lock();
        state.look_at_drops(device);
        state.place.steps += 1;
        state.place.until = state.place.until.max(until);
    }

    /// The device's time has jumped, as [`Device::wake`] was told this.
    pub fn jumped(&self, now: u64, arrived: Option<u64>) {
        let mut state = self.state.lock();
        let place = state.place;
        state.record(|encoder, out| encoder.jumped(out, now, arrived, place));
    }

    /// A port's interface goes down or comes up.
    pub fn link(&self, port: u16, up: bool) {
        let mut state = self.state.lock();
        let place = state.place;
        state.record(|encoder, out| encoder.link(out, port, up, place));
    }

    /// A port's interface did not take frames.
    pub fn not_sent(&self, port: u16, failed: device::Traffic) {
        let mut state = self.state.lock();
        let (place, device::Traffic { frames, bytes }) = (state.place, failed);
        state.record(|encoder, out| encoder.not_sent(out, port, frames, bytes, place));
    }

    /// The kernel has dropped frames in front of a port.
    pub fn missed(&self, port: u16, frames: u64) {
        let mut state = self.state.lock();
        let place = state.place;
        state.record(|encoder, out| encoder.missed(out, port, frames, place));
    }

    /// A frame leaves the device.
    pub fn sent(&self, at: u64, port: u16, frame: &[u8], paced: bool) {
        let sent = Output::Sent(Sent {
            at,
            port,
            paced,
            length: frame.len() as u64,
            hash: hash(frame),
        });
        self.output(at, &sent);
    }

    /// The controller was told of a frame, and took it or not.
    pub fn packet_in(&self, at: u64, frame: &[u8], taken: bool) {
        self.told(at, Told::PacketIn, hash(frame), taken);
    }

    /// The hash of an event that is about to be told.
    pub fn hash_of(event: &Event) -> u64 {
        hash_of_event(event)
    }

    /// The controller was told of an event with this hash, and took it or not.
    pub fn event(&self, at: u64, hash: u64, taken: bool) {
        self.told(at, Told::Event, hash, taken);
    }

    fn told(&self, at: u64, told: Told, hash: u64, taken: bool) {
        let told = Output::Told {
            at,
            told,
            taken,
            hash,
        };
        self.output(at, &told);
    }

    fn output(&self, at: u64, output: &Output) {
        let mut state = self.state.lock();
        state.now = state.now.max(at);
        state.record(|encoder, out| encoder.output(out, output));
    }

    /// The device has ended.
    pub fn finish(&self, device: &Device, now: u64) {
        let hash = hash_of_state(device, now);
        let mut state = self.state.lock();
        state.now = now;
        state.end(Reason::Stopped, Some(hash));
    }

    /// Nobody records any more, whatever became of the device.
    fn give_up(&self) {
        self.state.lock().end(Reason::Stopped, None);
    }
}
