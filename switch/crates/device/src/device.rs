// SPDX-License-Identifier: Apache-2.0
//! The device: receives frames, runs ingress, queues them, runs egress and sends.

use crate::counters::DeviceCounters;
use crate::digest::Digests;
use crate::drops::Drops;
use crate::flow_room::{Change, FlowRoom};
use crate::lateness::Lateness;
use crate::output::Note;
use crate::queued::{Queued, Uncounted};
use crate::room::{Buffers, Packets};
use crate::taps::Taps;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use traffic_manager::{
    ConfigError, Configuration, DelayLines, Model, ModelKind, PacketQueueState, PortState,
    ServiceFlowState, Traffic,
};
use v1model::trace::TraceBurst;
use v1model::{Packet, Pipeline, Program, Replica};

/// What a device is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceConfig {
    /// P4Runtime's device_id.
    pub device_id: u64,
    /// The port of packet-in and packet-out; never 0.
    pub cpu_port: Option<u16>,
    /// The value of `egress_spec` that means "drop".
    pub drop_port: u16,
    /// Determines all that programs draw at random.
    pub seed: u64,
    /// The traffic manager between ingress and egress.
    pub traffic_manager: ModelKind,
    /// How far the device's time may be behind the shell's clock before it jumps, ns.
    pub lateness_bound: u64,
}

impl Default for DeviceConfig {
    fn default() -> Self {
        Self {
            device_id: 0,
            cpu_port: None,
            drop_port: 511,
            seed: 0,
            traffic_manager: ModelKind::Docsis,
            lateness_bound: 20_000_000,
        }
    }
}

/// The traffic manager's configuration, counters and state at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrafficManagerState {
    /// The device's clock, nanoseconds since the process started.
    pub now_ns: u64,
    /// Every port, the CPU port included, in the order they were added.
    pub ports: Vec<PortState>,
    /// Every service flow, by port and queue_id (docsis model).
    pub service_flows: Vec<ServiceFlowState>,
    /// Every queue, by port and priority (bmv2 model).
    pub packet_queues: Vec<PacketQueueState>,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct PortCounters {
    pub received: Traffic,
    pub sent: Traffic,
    pub receive_overflow: Traffic,
    pub transmit_overflow: Traffic,
    pub receive_lost: Traffic,
    pub transmit_lost: Traffic,
    pub send_failed: Traffic,
}

/// Whether a port's interface can carry frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The port's number.
    pub port: u16,
    /// As the shell has said last; up until it says something.
    pub up: bool,
    /// How often that has changed.
    pub changes: u64,
    /// Frames that were dropped in front of the device, by the kernel.
    pub missed: u64,
}

#[derive(Debug)]
pub(crate) struct Port {
    pub number: u16,
    pub link: Link,
    pub counters: PortCounters,
    pub receive_line: usize,
    pub transmit_line: usize,
    /// What leaves here comes from here again.
    pub loops_back: bool,
}

/// A packet that is to go through ingress again.
#[derive(Debug)]
pub(crate) struct Returned {
    pub packet: Box<Packet>,
    /// The port that it comes from; none of one that was resubmitted or recirculated.
    pub from: Option<u16>,
    /// What is known of its frame.
    pub note: Option<Note>,
}

/// A frame on a delay line.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub port: u32,
    pub paced: bool,
    pub frame: Vec<u8>,
    pub note: Option<Note>,
}

const NONE: u32 = u32::MAX;

type PipelineHook = Box<dyn FnMut(&mut Pipeline) + Send>;

/// What a new pipeline has replaced. To drop it takes long when it is large:
/// not between packets.
#[derive(Debug)]
#[allow(clippy::vec_box)]
pub struct Replaced {
    /// The pipeline, with its state.
    pub pipeline: Option<Pipeline>,
    _digests: Digests,
    _packets: Vec<Box<Packet>>,
}

/// One switch.
pub struct Device {
    pub(crate) config: DeviceConfig,
    pub(crate) pipeline: Option<Pipeline>,
    pub(crate) pipeline_hook: Option<PipelineHook>,
    pub(crate) taps: Taps,
    pub(crate) tm: Model<Queued>,
    pub(crate) ports: Vec<Port>,
    /// Index by port number.
    pub(crate) port_index: Vec<u32>,
    pub(crate) receive_lines: DelayLines<InFlight>,
    pub(crate) transmit_lines: DelayLines<InFlight>,
    // Each is behind a pointer, as it moves often: out of here, into its queue and back.
    pub(crate) packets: Packets,
    /// For frames on delay lines.
    pub(crate) buffers: Buffers,
    /// What queues do not count of the frames of their packets.
    pub(crate) uncounted: Uncounted,
    /// The frame that egress makes, and what is known of it.
    pub(crate) out: Vec<u8>,
    pub(crate) note: Option<Note>,
    /// The burst that frames are taken into, where somebody traces.
    pub(crate) burst: Option<TraceBurst>,
    /// The replicas of the group in hand.
    pub(crate) replicas: Vec<Replica>,
    /// Acknowledgements that the frame in hand made superfluous.
    pub(crate) suppressed: Vec<Queued>,
    pub(crate) counters: DeviceCounters,
    pub(crate) drops: Drops,
    /// Packets that were taken out of queues without an end of their own: a new pipeline came, or
    /// their queue was removed.
    pub(crate) emptied: u64,
    /// Packets that are to go through ingress again.
    pub(crate) again: VecDeque<Returned>,
    /// Packets that have left queues since one of those had its turn.
    pub(crate) dequeues: u8,
    pub(crate) digests: Digests,
    /// The memory that service flows take.
    flow_room: FlowRoom,
    /// Idle entries are not looked for before; 0 is not known.
    pub(crate) idle_check: u64,
    /// The device's time: everything before it has happened.
    pub(crate) time: u64,
    /// How much of it nothing was earned for: the traffic manager's clock is
    /// behind the device's by so much.
    pub(crate) skipped: u64,
    lateness: Lateness,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("config", &self.config)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Names the directions of a port's link, for what they draw.
const TO_SWITCH: u64 = 1;
const FROM_SWITCH: u64 = 2;

impl Device {
    /// A device without ports (but the CPU port, if it has one) and without a pipeline.
    #[must_use]
    pub fn new(config: DeviceConfig) -> Self {
        let mut device = Self {
            config,
            pipeline: None,
            pipeline_hook: None,
            taps: Taps::default(),
            tm: Model::new(config.traffic_manager),
            ports: Vec::new(),
            port_index: Vec::new(),
            receive_lines: DelayLines::default(),
            transmit_lines: DelayLines::default(),
            packets: Packets::default(),
            buffers: Buffers::default(),
            uncounted: Uncounted::default(),
            out: Vec::new(),
            note: None,
            burst: None,
            replicas: Vec::new(),
            suppressed: Vec::new(),
            counters: DeviceCounters::default(),
            drops: Drops::default(),
            emptied: 0,
            again: VecDeque::new(),
            dequeues: 0,
            digests: Digests::default(),
            flow_room: FlowRoom::default(),
            idle_check: 0,
            time: 0,
            skipped: 0,
            lateness: Lateness::new(config.lateness_bound),
        };
        if let Some(port) = config.cpu_port {
            device.add_port(port);
        }
        device
    }

    /// What the device was started with.
    #[must_use]
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// Adds a port; one that is there stays as it is.
    pub fn add_port(&mut self, port: u16) {
        let number = usize::from(port);
        if self.port_index.len() <= number {
            self.port_index.resize(number + 1, NONE);
        }
        if self.port_index[number] != NONE {
            return;
        }
        self.port_index[number] = self.ports.len() as u32;
        self.tm.add_port(port);
        // Switches that share a seed lose different frames, and so do a link's two directions.
        let (seed, device) = (self.config.seed, self.config.device_id);
        let name = |direction| [device, u64::from(port), direction];
        self.ports.push(Port {
            number: port,
            link: Link {
                port,
                up: true,
                changes: 0,
                missed: 0,
            },
            counters: PortCounters::default(),
            receive_line: self.receive_lines.add(seed, &name(TO_SWITCH)),
            transmit_line: self.transmit_lines.add(seed, &name(FROM_SWITCH)),
            loops_back: false,
        });
    }

    /// A port's interface went down or came up: selectors leave out what
    /// watches a port that is down.
    pub fn set_port_up(&mut self, port: u16, up: bool) {
        let Some(index) = self.index(port) else {
            return;
        };
        let link = &mut self.ports[index as usize].link;
        if link.up != up {
            link.up = up;
            link.changes += 1;
            if let Some(pipeline) = &mut self.pipeline {
                pipeline.set_port_up(port, up);
            }
        }
    }

    /// A port's link takes no more frames for now, or takes them again. The bmv2
    /// model lets packets wait in the port's queues meanwhile, as BMv2 does; the
    /// docsis model sends at its own rates all the same.
    pub fn set_port_full(&mut self, port: u16, full: bool) {
        self.tm.set_held(port, full);
    }

    /// The kernel has dropped so many frames of a port since the last call.
    pub fn missed(&mut self, port: u16, frames: u64) {
        if let Some(index) = self.index(port) {
            self.ports[index as usize].link.missed += frames;
        }
    }

    /// Every port, the CPU port included, in the order they were added.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        self.ports.iter().map(|port| port.link)
    }

    pub(crate) fn index(&self, port: u16) -> Option<u32> {
        self.port_index
            .get(usize::from(port))
            .copied()
            .filter(|&index| index != NONE)
    }

    // --- pipeline ----------------------------------------------------------

    /// The pipeline with its tables and registers.
    #[must_use]
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// The pipeline, to control it.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        // Whoever changes it may set an idle timeout.
        self.idle_check = 0;
        self.pipeline.as_mut()
    }

    /// Called with every new pipeline before it runs, to attach a log.
    pub fn set_pipeline_hook(&mut self, hook: impl FnMut(&mut Pipeline) + Send + 'static) {
        self.pipeline_hook = Some(Box::new(hook));
    }

    /// Runs a program from now on, with fresh state.
    pub fn load(&mut self, now: u64, program: Arc<Program>) {
        let pipeline = Pipeline::new(program, self.config.seed);
        drop(self.install(now, pipeline));
    }

    /// Runs a pipeline from now on. What the old one queued is flushed: nobody
    /// could account for it. A pipeline that was made on another thread, with
    /// the seed of [`Self::config`], and whose predecessor is dropped on
    /// another thread, hardly holds up packets.
    pub fn install(&mut self, now: u64, mut pipeline: Pipeline) -> Replaced {
        pipeline.set_drop_port(self.config.drop_port);
        for link in self.links() {
            pipeline.set_port_up(link.port, link.up);
        }
        if let Some(hook) = &mut self.pipeline_hook {
            hook(&mut pipeline);
        }
        if self.taps.count() > 0 {
            pipeline.set_trace(Some(Box::new(self.taps.clone())));
        }
        let now = self.advance(now);
        let packets = self.flush(now);
        let digests = Digests::after(&self.digests, pipeline.program().digests().len());
        self.idle_check = 0;
        Replaced {
            pipeline: self.pipeline.replace(pipeline),
            _digests: std::mem::replace(&mut self.digests, digests),
            _packets: packets,
        }
    }

    /// Counts and takes all packets; those that are not kept for reuse.
    #[allow(clippy::vec_box)]
    fn flush(&mut self, now: u64) -> Vec<Box<Packet>> {
        let mut surplus = Vec::new();
        let flushed = &mut self.counters.flushed;
        for port in &self.ports {
            if let Some((_, _, queued)) = self.tm.port_state(port.number) {
                flushed.add(queued);
            }
        }
        // The bmv2 model has queues for ports that do not exist, too.
        for queue in self.tm.packet_queues() {
            if self.index(queue.config.queue.port).is_none() {
                self.counters.flushed.add(queue.queued);
            }
        }
        let (packets, emptied) = (&mut self.packets, &mut self.emptied);
        let mut keep = |packet| {
            *emptied += 1;
            surplus.extend(packets.give(packet));
        };
        let uncounted = &mut self.uncounted;
        self.tm.flush(now - self.skipped, &mut |queued| {
            keep(queued.leave(uncounted));
        });
        debug_assert!(self.uncounted.is_empty(), "a packet left without a word");
        while let Some(Returned { packet, .. }) = self.again.pop_front() {
            self.counters.flushed.count(packet.received().len());
            keep(packet);
        }
        surplus
    }

    // --- traffic manager ---------------------------------------------------

    /// Applies a whole request to the traffic manager, or nothing of it.
    ///
    /// # Errors
    /// A value out of range, or more memory than service flows may take ([`MOST_FLOW_BYTES`]); the
    /// words name the port, the queue and the field.
    ///
    /// [`MOST_FLOW_BYTES`]: crate::MOST_FLOW_BYTES
    pub fn configure(&mut self, now: u64, request: &Configuration) -> Result<(), ConfigError> {
        let now = self.advance(now);
        if let Some(port) = self.config.cpu_port
            && request
                .ports
                .iter()
                .any(|config| config.port == port && config.loop_back)
        {
            let words =
                format!("port {port}: loop_back: packet-ins and packet-outs have this port");
            return Err(ConfigError::Invalid(words));
        }
        let change = match &self.tm {
            Model::Docsis(tm) => {
                // Only a request that is right otherwise can be counted.
                tm.check(request)?;
                self.flow_room.change(request)?
            }
            Model::Bmv2(_) => Change::default(),
        };
        let (packets, emptied) = (&mut self.packets, &mut self.emptied);
        let uncounted = &mut self.uncounted;
        self.tm
            .configure(now - self.skipped, request, &mut |queued| {
                *emptied += 1;
                packets.give(queued.leave(uncounted));
            })?;
        self.flow_room.accept(change);
        // Other queues and delay lines hold more or less than those before.
        packets.forget_most();
        self.buffers.forget_most();
        for config in &request.ports {
            if config.loop_back {
                self.add_port(config.port);
            }
            if let Some(index) = self.index(config.port) {
                let port = &mut self.ports[index as usize];
                port.loops_back = config.loop_back;
                self.receive_lines
                    .configure(port.receive_line, config.receive_path());
                self.transmit_lines
                    .configure(port.transmit_line, config.transmit_path());
            }
        }
        Ok(())
    }

    /// A message of the link's own, of `bytes` as DOCSIS counts a frame's, goes before the frames
    /// of a port: they wait as long as it takes at the port's rate, in its packets. What was due
    /// before `now` is to have happened.
    pub fn occupy(&mut self, now: u64, port: u16, bytes: u64) {
        let now = self.advance(now);
        self.tm.occupy(now - self.skipped, port, bytes);
    }

    /// Bytes that a port has put on its line so far, with its framing and with the link's own
    /// messages; `None` where there is no such port, or nobody counts.
    #[must_use]
    pub fn line_bytes(&self, port: u16) -> Option<u64> {
        self.tm.line_bytes(port)
    }

    /// Configuration, counters and state of the traffic manager, all of one moment.
    #[must_use]
    pub fn traffic_manager_state(&self, now: u64) -> TrafficManagerState {
        let now = now.max(self.time);
        let ports = self.ports.iter().filter_map(|port| {
            let (config, queue_overflow, queued) = self.tm.port_state(port.number)?;
            Some(PortState {
                config,
                received: port.counters.received,
                sent: port.counters.sent,
                receive_overflow: port.counters.receive_overflow,
                transmit_overflow: port.counters.transmit_overflow,
                receive_lost: port.counters.receive_lost,
                transmit_lost: port.counters.transmit_lost,
                send_failed: port.counters.send_failed,
                queue_overflow,
                queued,
            })
        });
        TrafficManagerState {
            now_ns: now,
            ports: ports.collect(),
            service_flows: self.tm.service_flows(now - self.skipped),
            packet_queues: self.tm.packet_queues(),
        }
    }

    // --- time ---------------------------------------------------------------

    /// The device's time: everything that was due before it has happened.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Time goes on to `now`, never back.
    pub(crate) fn advance(&mut self, now: u64) -> u64 {
        self.time = self.time.max(now);
        self.time
    }

    /// The shell looks at the clock, which says `now`, before it runs what is due.
    /// `arrived` is when the first frame came that it has not yet delivered. Where
    /// the device is further behind than [`DeviceConfig::lateness_bound`] its time
    /// jumps: what was due happens at once, and no bucket earns for the gap.
    pub fn wake(&mut self, now: u64, arrived: Option<u64>) {
        let Some(due) = self.next_deadline().into_iter().chain(arrived).min() else {
            return;
        };
        let behind = now.saturating_sub(due.max(self.time));
        if behind > self.config.lateness_bound {
            let bound = self.config.lateness_bound;
            self.jump(now - bound, behind - bound);
        }
    }

    /// Gives back some packets and buffers that no queue has needed for a while. The shell's clock
    /// says `now`.
    pub fn tidy_up(&mut self, now: u64) {
        self.packets.tidy_up(now);
        self.buffers.tidy_up(now);
    }

    /// Time jumps to `to`, and no bucket earns for the last `gap` of it, ns. Devices that are run
    /// together do so together, whichever of them was late.
    pub fn jump(&mut self, to: u64, gap: u64) {
        self.advance(to);
        self.skipped += gap;
        self.lateness.jump(gap);
    }

    /// How late the shell runs what is due.
    #[must_use]
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// [`Self::lateness`], for the shell to note it.
    pub fn lateness_mut(&mut self) -> &mut Lateness {
        &mut self.lateness
    }

    /// Drops that no other counter shows.
    #[must_use]
    pub fn counters(&self) -> &DeviceCounters {
        &self.counters
    }

    /// Frames that were dropped one by one, wherever that was; those that a new pipeline
    /// flushed from queues are not among them.
    #[must_use]
    pub fn drops(&self) -> Drops {
        self.drops
    }
}
