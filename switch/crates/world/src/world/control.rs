// SPDX-License-Identifier: Apache-2.0
//! Asks devices: calls their server's methods and streams, and puts frames in
//! front of a port.

use std::collections::VecDeque;

use bytes::Bytes;
use device::{Device, TRACES, TraceSink};

use super::run::{Injection, Source};
use super::{World, device_rank};
use crate::collected::Left;
use crate::error::{WorldError, invalid};
use crate::net::Net;
use crate::schedule::Kind;

/// The longest frame that can be injected, without CRC.
const LONGEST_INJECTED: usize = 16_384;

/// Names a stream of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamId {
    place: usize,
    /// A place may be another stream's later.
    number: u64,
}

fn rpc(status: tonic::Status) -> WorldError {
    WorldError::Rpc(Box::new(status))
}

impl World {
    /// Runs a method of a device's server now, after what is due: see
    /// [`grpc_services::in_process::InProcess::call`].
    ///
    /// # Errors
    /// There is no such device, or the method's status is not OK.
    pub fn call(
        &mut self,
        device: &str,
        method: &str,
        request: Bytes,
    ) -> Result<Vec<Bytes>, WorldError> {
        let index = self.device_index(device)?;
        self.run_until(self.net.now)?;
        self.answering(index)?;
        let node = &mut self.devices[index];
        let now = self.net.now;
        let answer = node.ask(&self.runtime, now, async |server| {
            server.call(method, request).await
        });
        node.reschedule(&mut self.net);
        answer.map_err(rpc)
    }

    /// Tells `sink` of a device's packets from now on, until [`Self::end_traces`].
    ///
    /// # Errors
    /// There is no such device, or it has as many traces as it may.
    pub fn trace(
        &mut self,
        device: &str,
        sink: Box<dyn TraceSink + Send>,
    ) -> Result<(), WorldError> {
        let index = self.device_index(device)?;
        let Some(trace) = self.devices[index].device.add_trace(sink) else {
            return Err(invalid(format!(
                "device \"{device}\" has {TRACES} traces already; end them first"
            )));
        };
        self.traces.push((index, trace));
        Ok(())
    }

    /// Ends all traces.
    pub fn end_traces(&mut self) {
        for (index, trace) in self.traces.drain(..) {
            self.devices[index].device.remove_trace(trace);
        }
    }

    /// Runs a closure on a device now, after what is due: for tests and tools that need no
    /// server.
    ///
    /// # Errors
    /// There is no such device.
    pub fn with_device<T>(
        &mut self,
        device: &str,
        f: impl FnOnce(&mut Device, u64) -> T,
    ) -> Result<T, WorldError> {
        let index = self.device_index(device)?;
        self.run_until(self.net.now)?;
        let node = &mut self.devices[index];
        let answer = f(&mut node.device, self.net.now);
        node.reschedule(&mut self.net);
        Ok(answer)
    }

    /// Opens a StreamChannel to a device.
    ///
    /// # Errors
    /// There is no such device, or it has as many as it serves.
    pub fn open_stream(&mut self, device: &str) -> Result<StreamId, WorldError> {
        self.check()?;
        let index = self.device_index(device)?;
        self.answering(index)?;
        let stream = self.devices[index].server.open_stream().map_err(rpc)?;
        self.opened += 1;
        let entry = Some((self.opened, index as u32, stream));
        let free = self.streams.iter().position(Option::is_none);
        let place = free.unwrap_or(self.streams.len());
        match free {
            Some(place) => self.streams[place] = entry,
            None => self.streams.push(entry),
        }
        Ok(StreamId {
            place,
            number: self.opened,
        })
    }

    /// The place of a stream that is open.
    fn open(&self, id: StreamId) -> Result<usize, WorldError> {
        let entry = self.streams.get(id.place).and_then(Option::as_ref);
        let same = entry.is_some_and(|(number, ..)| *number == id.number);
        same.then_some(id.place).ok_or_else(closed)
    }

    /// # Errors
    /// The device's process is stopped or dead.
    fn answering(&self, index: usize) -> Result<(), WorldError> {
        let node = &self.devices[index];
        match node.silent() {
            None => Ok(()),
            Some(why) => Err(rpc(tonic::Status::unavailable(format!(
                "device \"{}\" {why}",
                node.name
            )))),
        }
    }

    /// Sends an encoded `StreamMessageRequest` now, after what is due.
    ///
    /// # Errors
    /// The status that ends the stream, which is closed then; it has been closed.
    pub fn stream_send(&mut self, id: StreamId, message: Bytes) -> Result<(), WorldError> {
        self.run_until(self.net.now)?;
        let place = self.open(id)?;
        let Some((_, index, stream)) = self.streams[place].as_mut() else {
            return Err(closed());
        };
        let node = &mut self.devices[*index as usize];
        if let Some(why) = node.silent() {
            let words = format!("device \"{}\" {why}", node.name);
            return Err(rpc(tonic::Status::unavailable(words)));
        }
        let now = self.net.now;
        let answer = node.drive(&self.runtime, now, stream.send(message));
        node.reschedule(&mut self.net);
        if answer.is_err() {
            self.streams[place] = None;
        }
        answer.map_err(rpc)
    }

    /// Takes the encoded `StreamMessageResponse`s that are there by now.
    ///
    /// # Errors
    /// The stream has been closed.
    pub fn stream_receive(&mut self, id: StreamId) -> Result<Vec<Bytes>, WorldError> {
        self.run_until(self.net.now)?;
        let place = self.open(id)?;
        match &mut self.streams[place] {
            Some((.., stream)) => Ok(stream.receive()),
            None => Err(closed()),
        }
    }

    /// Ends a stream, if it is open.
    pub fn close_stream(&mut self, id: StreamId) {
        if let Ok(place) = self.open(id) {
            self.streams[place] = None;
        }
    }

    /// Lets frames arrive at a port, each at its time.
    ///
    /// # Errors
    /// There is no such port; a time is before now or before the one before it; a length
    /// is not possible.
    pub fn inject(
        &mut self,
        device: &str,
        port: u16,
        frames: Vec<(u64, Vec<u8>)>,
    ) -> Result<(), WorldError> {
        self.check()?;
        let index = self.device_index(device)?;
        let node = &self.devices[index];
        if !node.has_port(port) {
            return Err(invalid(format!("device \"{device}\" has no port {port}")));
        }
        let id = node.device.config().device_id;
        let index = index as u32;
        let known = |i: &Injection| i.device == index && i.port == port;
        let found = self.injections.iter().position(known);
        let mut last = found
            .and_then(|at| self.injections[at].frames.back())
            .map_or(self.net.now, |(at, _)| *at);
        for (number, (at, bytes)) in frames.iter().enumerate() {
            if *at < last {
                return Err(invalid(format!(
                    "frame {number} is to arrive at {at} ns, before {last} ns: give them in order, \
                     and none in the past"
                )));
            }
            if bytes.is_empty() || bytes.len() > LONGEST_INJECTED {
                return Err(invalid(format!(
                    "frame {number} has {} bytes; a frame has 1 to {LONGEST_INJECTED}",
                    bytes.len()
                )));
            }
            last = *at;
        }
        let place = found.unwrap_or_else(|| {
            let place = self.injections.len();
            // Behind what a link brings at that time.
            let rank = device_rank(Kind::ToDevice, id, port, 1);
            let source = self.source(rank, Source::Injection(place as u32));
            self.injections.push(Injection {
                source,
                device: index,
                port,
                frames: VecDeque::new(),
            });
            place
        });
        let injection = &mut self.injections[place];
        for (at, bytes) in frames {
            self.net.totals.sent += 1;
            self.net.hold(bytes.len());
            injection.frames.push_back((at, Net::frame(bytes)));
        }
        let next = injection.frames.front().map(|(at, _)| *at);
        self.net.schedule.set(injection.source, next);
        self.check()
    }
}

/// Frames that leave a device, as they are.
impl World {
    /// Keeps what leaves through a port without a link, from now on.
    ///
    /// # Errors
    /// There is no such port, or it has a link.
    pub fn collect(&mut self, device: &str, port: u16) -> Result<(), WorldError> {
        self.check()?;
        let node = &self.devices[self.device_index(device)?];
        if !node.has_port(port) {
            return Err(invalid(format!("device \"{device}\" has no port {port}")));
        }
        if node.link(port).is_some() {
            return Err(invalid(format!(
                "port {port} of device \"{device}\" has a link, which takes its frames"
            )));
        }
        self.net.collected.open(node.hash, port);
        Ok(())
    }

    /// Takes what has left through a port since the last call, and when.
    ///
    /// # Errors
    /// Nobody collects what leaves there.
    pub fn collected(&mut self, device: &str, port: u16) -> Result<Vec<Left>, WorldError> {
        let hash = self.devices[self.device_index(device)?].hash;
        self.net.collected.take(hash, port).ok_or_else(|| {
            invalid(format!(
                "what leaves through port {port} of device \"{device}\" is not collected"
            ))
        })
    }
}

fn closed() -> WorldError {
    invalid("the stream is closed; open another one")
}
