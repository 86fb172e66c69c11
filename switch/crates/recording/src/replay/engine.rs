// SPDX-License-Identifier: Apache-2.0
//! Runs a device and its server by the records.

use super::compare::Compare;
use super::journal::Again;
use super::report::{Counted, Difference, Ended, Report};
use crate::format::{End, Header, Input, Output, Place, Reason};
use crate::hash::hash_of_state;
use bytes::Bytes;
use device::handle::{self, Requests};
use device::{Device, DeviceConfig, ModelKind, Traffic};
use grpc_services::in_process::{InProcess, InProcessStream};
use grpc_services::journal::Work;
use grpc_services::{Limits, PipelineConfig, ServedDevice, p4info_from_text};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;
use v1model::{LoadOptions, Program};

/// Requests and streams that may be open at a time.
const MOST_OPEN: usize = 4096;
/// How often what works elsewhere is waited for before a request is thought to wait for ever:
/// the longest, SetForwardingPipelineConfig, goes elsewhere three times.
const ROUNDS: usize = 16;

type Asked = Pin<Box<dyn Future<Output = ()>>>;
type Stream = Arc<Mutex<InProcessStream>>;

/// See the module.
pub struct Engine {
    device: Device,
    server: Arc<InProcess>,
    requests: Requests,
    journal: Arc<Again>,
    runtime: Runtime,
    /// Requests that have not ended, by number.
    open: BTreeMap<u64, Asked>,
    streams: BTreeMap<u64, Stream>,
    compare: Compare,
    steps: u64,
    pub report: Report,
}

/// A server has no pipeline where it has no P4Info: as in the switch.
fn pipeline(p4info: &[u8], json: &[u8], program: &Arc<Program>) -> Result<PipelineConfig, String> {
    let text = std::str::from_utf8(p4info).map_err(|_| "its P4Info is not text".to_owned())?;
    let info = p4info_from_text(text).map_err(|error| format!("its P4Info: {error}"))?;
    PipelineConfig::new(info, json.to_vec(), Arc::clone(program))
        .map_err(|error| format!("its P4Info: {error}"))
}

impl Engine {
    /// A device as the recorded one was at the beginning.
    ///
    /// # Errors
    /// Its program cannot be loaded.
    pub fn new(header: &Header) -> Result<Self, String> {
        if header.cpu_port == Some(0) {
            return Err("its CPU port is 0".into());
        }
        let mut device = Device::new(DeviceConfig {
            device_id: header.device_id,
            cpu_port: header.cpu_port,
            drop_port: header.drop_port,
            seed: header.seed,
            traffic_manager: ModelKind::Docsis,
            lateness_bound: header.lateness_bound,
        });
        header.ports.iter().for_each(|&port| device.add_port(port));
        let load = LoadOptions {
            bmv2_quirks: header.bmv2_quirks,
            ..LoadOptions::default()
        };
        let mut served = None;
        if let Some(recorded) = &header.program {
            let program = Program::load_with(&recorded.json, &load);
            let program = Arc::new(program.map_err(|error| format!("its program: {error}"))?);
            device.load(recorded.at, Arc::clone(&program));
            let p4info = recorded.p4info.as_deref();
            let config = p4info.map(|p4info| pipeline(p4info, &recorded.json, &program));
            served = config.transpose()?;
        }
        // Who is asked to run a request does so when the recording says: nobody is woken.
        let (handle, requests, _, events) =
            handle::channel(header.device_id, header.cpu_port, || {});
        let served = ServedDevice {
            handle: handle.with_load_options(load),
            events,
            pipeline: served,
        };
        let journal: Arc<Again> = Arc::default();
        let server = InProcess::with_journal(served, Limits::default(), journal.clone());
        // With one thread for what takes long, who waits for something that was begun there
        // later than something else knows that that has ended.
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| format!("no runtime for its requests: {error}"))?;
        Ok(Self {
            device,
            server: Arc::new(server),
            requests,
            journal,
            runtime,
            open: BTreeMap::new(),
            streams: BTreeMap::new(),
            compare: Compare::default(),
            steps: 0,
            report: Report {
                counted: Counted::default(),
                same: 0,
                difference: None,
                ended: Ended::CutOff,
                steps: 0,
            },
        })
    }

    /// The device is to give this, until its next input.
    pub fn expect(&mut self, output: Output) {
        self.compare.expect(output);
    }

    /// The device is given something, after all that is due before it.
    pub fn give(&mut self, input: Input) {
        match input {
            Input::Arrived { at, port, frame } => {
                self.run_until(at);
                self.device.receive(at, port, &frame);
            }
            Input::TooLong { length } => self.device.receive_too_long(length as usize),
            Input::Jumped {
                now,
                arrived,
                place,
            } => {
                self.run_to(place);
                let jumps = self.device.lateness().jumps();
                self.device.wake(now, arrived);
                if self.device.lateness().jumps() != jumps + 1 {
                    self.differs("a jump of time", now, "time jumps", "it does not");
                }
            }
            Input::Link { port, up, place } => {
                self.run_to(place);
                self.device.set_port_up(port, up);
            }
            Input::NotSent {
                port,
                frames,
                bytes,
                place,
            } => {
                self.run_to(place);
                self.not_sent(port, Traffic { frames, bytes });
            }
            Input::Missed {
                port,
                frames,
                place,
            } => {
                self.run_to(place);
                self.device.missed(port, frames);
            }
            Input::Ran { request, at, work } => self.take_turn(request, at, work),
            Input::Asked {
                request,
                method,
                message,
            } => {
                let server = Arc::clone(&self.server);
                let asked = async move {
                    // What it answers is in the journal.
                    let _ = server.call(&method, message.into()).await;
                };
                self.begin(request, Box::pin(asked));
            }
            Input::Said {
                request,
                stream,
                message,
            } => self.say(request, stream, message.into()),
            Input::Answered { request, hash } => self.finish_request(request, hash),
            Input::Left { request } => {
                let runtime = &self.runtime;
                let left = self.open.remove(&request);
                // What must not be left half done goes on in the runtime.
                runtime.block_on(async { drop(left) });
            }
            Input::StreamOpened { stream } => self.open_stream(stream),
            Input::StreamEnded { stream } => {
                self.streams.remove(&stream);
            }
        }
        self.compare.look_at_drops(&self.device);
        self.note();
    }

    /// All that was recorded has been given.
    pub fn finish(mut self, end: Option<End>) -> Report {
        match end {
            Some(end) if end.reason == Reason::Stopped => {
                self.run_to(end.place);
                self.compare.settle();
                self.compare_states(&end);
            }
            // It ends anywhere: what else the last of it led to is not known.
            _ => {
                while let Some(at) = self.compare.last_expected()
                    && self.step(at)
                {}
                if self.compare.last_expected().is_some() {
                    self.compare.settle();
                }
            }
        }
        self.note();
        self.report.ended = end.map_or(Ended::CutOff, |end| end.reason.into());
        self.report.steps = self.steps;
        self.report
    }

    fn compare_states(&mut self, end: &End) {
        let (Some(recorded), None) = (end.state, &self.compare.difference) else {
            return;
        };
        let state = hash_of_state(&self.device, end.now);
        if recorded == state {
            self.compare.same += 1;
            return;
        }
        let words = |state| format!("hash {state:016x}");
        let (recorded, replayed) = (words(recorded), words(state));
        let what = "counters, queues or registers at the end";
        self.differs(what, end.now, &recorded, &replayed);
    }

    fn note(&mut self) {
        self.report.same = self.compare.same;
        self.report.difference.clone_from(&self.compare.difference);
    }

    fn differs(&mut self, what: &'static str, at: u64, recorded: &str, replayed: &str) {
        self.compare.differs(Difference {
            what,
            at,
            port: None,
            recorded: recorded.to_owned(),
            replayed: replayed.to_owned(),
        });
    }

    // --- time ---------------------------------------------------------------

    fn step(&mut self, until: u64) -> bool {
        // What comes after a difference says nothing, and could go on for ever.
        if self.compare.difference.is_some()
            || self.compare.is_ahead()
            || !self.device.step(until, &mut self.compare)
        {
            return false;
        }
        self.steps += 1;
        self.compare.look_at_drops(&self.device);
        true
    }

    /// All that is due by a time, which is all that was recorded so far.
    fn run_until(&mut self, at: u64) {
        while self.step(at) {}
        self.compare.settle();
    }

    /// As many steps as the device had made.
    fn run_to(&mut self, place: Place) {
        while self.steps < place.steps && self.step(place.until) {}
        if self.steps != place.steps && self.compare.difference.is_none() {
            let recorded = format!("the device has done {} things", place.steps);
            let replayed = format!("it has done {}", self.steps);
            self.differs("how much is due", place.until, &recorded, &replayed);
        }
    }

    fn not_sent(&mut self, port: u16, failed: Traffic) {
        let state = self.device.traffic_manager_state(0);
        let mut ports = state.ports.iter();
        let sent = ports.find(|state| state.config.port == port);
        let sent = sent.map_or(Traffic::default(), |state| state.sent);
        if failed.frames <= sent.frames && failed.bytes <= sent.bytes {
            self.device.send_failed(port, failed);
        } else {
            let at = self.device.time();
            self.differs("what failed to leave", at, "more than was sent", "as sent");
        }
    }

    // --- requests -----------------------------------------------------------

    fn begin(&mut self, request: u64, asked: Asked) {
        let at = self.device.time();
        if self.open.len() >= MOST_OPEN || self.open.contains_key(&request) {
            self.differs("a request", at, "it begins", "too many are open");
            return;
        }
        self.journal.name_next(request);
        self.open.insert(request, asked);
        // As far as it comes without the device.
        self.poll(request);
        if self.journal.is_unnamed() {
            self.differs("a request", at, "it begins", "there is no such method");
        }
    }

    fn say(&mut self, request: u64, stream: u64, message: Bytes) {
        let Some(stream) = self.streams.get(&stream).map(Arc::clone) else {
            let at = self.device.time();
            self.differs("a message", at, "it is sent", "its stream is not open");
            return;
        };
        let said = async move {
            let mut stream = stream.lock().await;
            let _ = stream.send(message).await;
            // A client that reads.
            stream.receive();
        };
        self.begin(request, Box::pin(said));
    }

    fn open_stream(&mut self, stream: u64) {
        self.journal.name_next(stream);
        let at = self.device.time();
        match self.server.open_stream() {
            Ok(opened) if !self.streams.contains_key(&stream) => {
                self.streams.insert(stream, Arc::new(Mutex::new(opened)));
            }
            Ok(_) => self.differs("a stream", at, "it is opened", "it is open already"),
            Err(status) => self.differs("a stream", at, "it is opened", status.message()),
        }
    }

    /// Lets one request work, or all where it is not open any more.
    fn poll(&mut self, request: u64) {
        let (runtime, open) = (&self.runtime, &mut self.open);
        runtime.block_on(std::future::poll_fn(|context| {
            if let Some(asked) = open.get_mut(&request)
                && asked.as_mut().poll(context).is_ready()
            {
                open.remove(&request);
            }
            Poll::Ready(())
        }));
    }

    /// Lets requests work until `is_done` says so. False: they wait for something that does
    /// not come.
    fn drive(&mut self, request: u64, mut is_done: impl FnMut(&mut Self) -> bool) -> bool {
        for _ in 0..ROUNDS {
            self.poll(request);
            if is_done(self) {
                return true;
            }
            // It may wait for what another one holds, or for what goes on elsewhere.
            let others: Vec<u64> = self.open.keys().copied().collect();
            others.into_iter().for_each(|other| self.poll(other));
            self.runtime.block_on(async {
                let _ = tokio::task::spawn_blocking(|| ()).await;
                tokio::task::yield_now().await;
            });
            if is_done(self) {
                return true;
            }
        }
        false
    }

    /// A request uses the device, as much as it did.
    fn take_turn(&mut self, request: u64, at: u64, work: Work) {
        self.run_until(at);
        if self.compare.difference.is_some() {
            return;
        }
        self.journal.grant(request, work);
        let ran = self.drive(request, |engine| {
            engine.requests.run_one(&mut engine.device, at)
        });
        let done = self.journal.done(request);
        self.journal.revoke();
        if !ran {
            let recorded = format!("request {request} uses the device");
            self.differs("a request", at, &recorded, "it does not");
        } else if done != Some(work) {
            let recorded = format!("{work:?}");
            let replayed = format!("{done:?}");
            self.differs("a request's work in one turn", at, &recorded, &replayed);
        } else {
            self.compare.look_at_drops(&self.device);
        }
    }

    fn finish_request(&mut self, request: u64, recorded: u64) {
        let mut answer = None;
        self.drive(request, |engine| {
            answer = engine.journal.answer(request);
            answer.is_some()
        });
        self.open.remove(&request);
        let at = self.device.time();
        match answer {
            Some(replayed) if replayed == recorded => self.compare.same += 1,
            Some(replayed) => {
                let words = |hash| format!("request {request} is answered with hash {hash:016x}");
                let (recorded, replayed) = (words(recorded), words(replayed));
                self.differs("the answer to a request", at, &recorded, &replayed);
            }
            None => {
                let recorded = format!("request {request} is answered");
                self.differs("the answer to a request", at, &recorded, "it has none");
            }
        }
    }
}
