// SPDX-License-Identifier: Apache-2.0
//! Plays a test on a device, in virtual time.

use crate::compare::{Expected, Pair, Received, align};
use crate::control::Control;
use crate::error::Error;
use crate::outcome::{Failure, Note, Outcome, difference, hex, pattern_text};
use crate::script::{Command, Script};
use device::{Device, DeviceConfig, ModelKind, Output};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use v1model::Program;
use v1model::trace::{TextTrace, TraceFilter, TraceSink};

/// The highest port of v1model, whose ports have 9 bits.
const LAST_PORT: u16 = 511;
/// Between two packets: they come one behind the other.
const PACKET_GAP_NS: u64 = 100_000;
/// After `wait` and after control statements, as p4c's driver sleeps.
const PAUSE_NS: u64 = 1_000_000_000;
/// What is still due this long after a packet is left for later.
const SETTLE_NS: u64 = 60_000_000_000;
/// Bytes of a packet's trace that are kept.
const MOST_TRACE: u64 = 1 << 20;
/// Events after which a packet is taken to go round for ever.
const MOST_EVENTS: usize = 1_000_000;

/// How a test is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The `egress_spec` that means "drop".
    pub drop_port: u16,
    /// The port of packet-in and packet-out; a port like others in a test.
    pub cpu_port: Option<u16>,
    /// Determines what the program draws at random.
    pub seed: u64,
    /// Keep what happened to the packets that a failure is about (not with
    /// [`run_traced`]'s sink, which is told about all).
    pub explain: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            drop_port: 511,
            cpu_port: None,
            seed: 0,
            explain: false,
        }
    }
}

/// Where a packet's trace is written.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<u8>>>);

impl Trace {
    fn take(&self) -> String {
        let bytes = self.0.lock().map(|mut text| std::mem::take(&mut *text));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }
}

impl std::io::Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Ok(mut text) = self.0.lock() {
            text.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What left the device, by port.
#[derive(Default)]
struct Capture {
    /// The line of the packet in hand.
    line: u32,
    count: usize,
    ports: BTreeMap<u16, Vec<Received>>,
    cpu_port: u16,
}

impl Output for Capture {
    fn transmit(&mut self, _now: u64, port: u16, frame: &[u8], _paced: bool) {
        let received = Received {
            line: self.line,
            frame: frame.to_vec(),
        };
        // Frames through ports that the test does not mention are nobody's.
        if let Some(frames) = self.ports.get_mut(&port) {
            self.count += 1;
            frames.push(received);
        }
    }

    fn packet_in(&mut self, now: u64, frame: &[u8]) -> bool {
        self.transmit(now, self.cpu_port, frame, false);
        true
    }
}

/// Runs a test on a fresh device with this program.
#[must_use]
pub fn run(program: Arc<Program>, script: &Script, options: &Options) -> Outcome {
    run_traced(program, script, options, None)
}

/// As [`run`]; tells `sink` what happens to the packets.
#[must_use]
pub fn run_traced(
    program: Arc<Program>,
    script: &Script,
    options: &Options,
    sink: Option<Box<dyn TraceSink + Send>>,
) -> Outcome {
    let mut run = Run::new(program, script, options);
    if sink.is_some() {
        run.trace = None;
        if let Some(pipeline) = run.device.pipeline_mut() {
            pipeline.set_trace(sink);
        }
    }
    let mut outcome = Outcome::default();
    for statement in &script.statements {
        run.line
            .store(statement.line, std::sync::atomic::Ordering::Relaxed);
        match run.statement(statement, &mut outcome) {
            Ok(()) => {}
            Err(error) => {
                outcome.failures.push(Failure::Statement(error));
                break;
            }
        }
    }
    run.finish(&mut outcome);
    outcome
}

struct Run {
    device: Device,
    now: u64,
    capture: Capture,
    expected: BTreeMap<u16, Vec<Expected>>,
    control: Control,
    /// A control statement came after the last packet.
    pause: bool,
    /// Frames that the last packet gave; `None` before the first.
    last_gave: Option<usize>,
    /// The line of a `no_packet` that waits for the first packet.
    none_expected: Option<u32>,
    /// The program's messages, with the line of the packet.
    messages: Arc<Mutex<Vec<Note>>>,
    line: Arc<std::sync::atomic::AtomicU32>,
    trace: Option<Trace>,
    /// Every packet's, by the line of its statement.
    traces: BTreeMap<u32, String>,
}

impl Run {
    fn new(program: Arc<Program>, script: &Script, options: &Options) -> Run {
        let mut device = Device::new(DeviceConfig {
            device_id: 0,
            cpu_port: options.cpu_port,
            drop_port: options.drop_port,
            seed: options.seed,
            // Depths in packets, whatever metadata the program has.
            traffic_manager: ModelKind::Bmv2 { priorities: 1 },
            ..DeviceConfig::default()
        });
        // Egress runs for every port, as in BMv2; what leaves through a port
        // that is not there is lost after it.
        (0..=LAST_PORT).for_each(|port| device.add_port(port));
        let messages: Arc<Mutex<Vec<Note>>> = Arc::default();
        let line: Arc<std::sync::atomic::AtomicU32> = Arc::default();
        let (sink, sink_line) = (Arc::clone(&messages), Arc::clone(&line));
        device.set_pipeline_hook(move |pipeline| {
            let (sink, line) = (Arc::clone(&sink), Arc::clone(&sink_line));
            pipeline.set_log(Some(Box::new(move |text| {
                if let Ok(mut messages) = sink.lock() {
                    messages.push(Note {
                        line: line.load(std::sync::atomic::Ordering::Relaxed),
                        text: text.to_owned(),
                    });
                }
            })));
        });
        let now = PAUSE_NS;
        device.load(now, program);
        let ports = script
            .statements
            .iter()
            .filter_map(|statement| match statement.command {
                Command::Packet { port, .. } | Command::Expect { port, .. } => Some(port),
                _ => None,
            });
        let capture = Capture {
            ports: ports.map(|port| (port, Vec::new())).collect(),
            cpu_port: options.cpu_port.unwrap_or(u16::MAX),
            ..Default::default()
        };
        Run {
            device,
            now,
            capture,
            expected: BTreeMap::new(),
            control: Control::default(),
            pause: false,
            last_gave: None,
            none_expected: None,
            messages,
            line,
            trace: options.explain.then(Trace::default),
            traces: BTreeMap::new(),
        }
    }

    /// A sink of its own for each packet, so that its trace is whole.
    fn set_trace(&mut self, on: bool) {
        if let (Some(trace), Some(pipeline)) = (&self.trace, self.device.pipeline_mut()) {
            let sink = || TextTrace::new(trace.clone(), TraceFilter::default(), MOST_TRACE);
            pipeline.set_trace(match on {
                true => Some(Box::new(sink())),
                false => None,
            });
        }
    }

    fn statement(
        &mut self,
        statement: &crate::script::Statement,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let line = statement.line;
        match &statement.command {
            Command::Packet { port, data } => {
                outcome.packets += 1;
                self.packet(line, *port, data)?;
                if let Some(line) = self.none_expected.take() {
                    self.check_none(line, outcome);
                }
            }
            Command::Expect { port, pattern } => {
                let expected = Expected {
                    line,
                    pattern: pattern.clone(),
                };
                self.expected.entry(*port).or_default().push(expected);
            }
            Command::NoPacket => match self.last_gave {
                Some(_) => self.check_none(line, outcome),
                None => self.none_expected = Some(line),
            },
            Command::Wait => {
                self.now += PAUSE_NS;
                self.settle(line)?;
            }
            Command::CheckCounter {
                counter,
                index,
                check,
            } => {
                let Some(pipeline) = self.device.pipeline() else {
                    return Ok(());
                };
                let wrong = self
                    .control
                    .check_counter(pipeline, counter, index, check.as_ref())?;
                if let Some(message) = wrong {
                    outcome.failures.push(Failure::Check(Error {
                        line,
                        column: 0,
                        message,
                    }));
                }
            }
            _ => {
                self.pause = true;
                if let Some(pipeline) = self.device.pipeline_mut() {
                    self.control.apply(self.now, pipeline, statement)?;
                }
            }
        }
        Ok(())
    }

    fn packet(&mut self, line: u32, port: u16, data: &[u8]) -> Result<(), Error> {
        if port > LAST_PORT {
            return Err(Error {
                line,
                column: 0,
                message: format!("port {port} is more than {LAST_PORT}, the last of v1model"),
            });
        }
        self.now += if std::mem::take(&mut self.pause) {
            PAUSE_NS
        } else {
            PACKET_GAP_NS
        };
        self.capture.line = line;
        let before = self.capture.count;
        self.set_trace(true);
        self.device.receive(self.now, port, data);
        let settled = self.settle(line);
        self.set_trace(false);
        if let Some(trace) = &self.trace {
            self.traces.insert(line, trace.take());
        }
        settled?;
        self.last_gave = Some(self.capture.count - before);
        Ok(())
    }

    /// Does all that is due, now and as time passes.
    fn settle(&mut self, line: u32) -> Result<(), Error> {
        let end = self.now.saturating_add(SETTLE_NS);
        for _ in 0..MOST_EVENTS {
            if self.device.step(self.now, &mut self.capture) {
                continue;
            }
            match self.device.next_deadline() {
                Some(due) if due <= end => self.now = self.now.max(due),
                _ => return Ok(()),
            }
        }
        Err(Error {
            line,
            column: 0,
            message: format!("the switch does not come to rest after {MOST_EVENTS} events"),
        })
    }

    fn check_none(&mut self, line: u32, outcome: &mut Outcome) {
        if let Some(count @ 1..) = self.last_gave {
            outcome.failures.push(Failure::Check(Error {
                line,
                column: 0,
                message: format!(
                    "the packet of line {} gives {count} frames, not none",
                    self.capture.line
                ),
            }));
        }
    }

    fn finish(mut self, outcome: &mut Outcome) {
        let stopped = !outcome.passed()
            && outcome
                .failures
                .iter()
                .any(|f| matches!(f, Failure::Statement(_)));
        if !stopped {
            self.compare(outcome);
        }
        outcome.notes.append(&mut self.control.notes);
        if let Ok(mut messages) = self.messages.lock() {
            outcome.notes.append(&mut messages);
        }
        outcome.notes.sort_by_key(|note| note.line);
        outcome.failures.sort_by_key(Failure::line);
        for failure in &outcome.failures {
            if let Some((line, text)) = self.trace_for(failure) {
                let trace = Note {
                    line,
                    text: text.to_owned(),
                };
                if !outcome.traces.contains(&trace) {
                    outcome.traces.push(trace);
                }
            }
        }
    }

    /// The packet that a failure is about; for a missing frame the one before
    /// the `expect`, or else the one behind it.
    fn trace_for(&self, failure: &Failure) -> Option<(u32, &str)> {
        let line = match failure {
            Failure::Differs(difference) => difference.packet_line,
            Failure::Unexpected { line, .. } | Failure::Missing { line, .. } => *line,
            Failure::Check(error) | Failure::Statement(error) => error.line,
        };
        let mut before = self.traces.range(..=line);
        let (line, text) = before
            .next_back()
            .or_else(|| self.traces.range(line..).next())?;
        Some((*line, text))
    }

    fn compare(&self, outcome: &mut Outcome) {
        for (&port, received) in &self.capture.ports {
            let expected = self.expected.get(&port).map_or(&[][..], Vec::as_slice);
            for pair in align(expected, received) {
                match pair {
                    Pair::Both(e, r) => {
                        let difference = difference(port, e + 1, &expected[e], &received[r]);
                        if difference.digits.is_empty() {
                            outcome.matched += 1;
                        } else {
                            outcome.failures.push(Failure::Differs(difference));
                        }
                    }
                    Pair::Missing(e) => outcome.failures.push(Failure::Missing {
                        line: expected[e].line,
                        port,
                        number: e + 1,
                        expected: pattern_text(expected[e].pattern.as_ref()),
                    }),
                    Pair::Unexpected(r) => outcome.failures.push(Failure::Unexpected {
                        line: received[r].line,
                        port,
                        number: r + 1,
                        received: hex(&received[r].frame),
                    }),
                }
            }
        }
    }
}
