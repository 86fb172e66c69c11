// SPDX-License-Identifier: Apache-2.0
//! Receive, ingress, queue, egress, send.

use crate::counters::DeviceCounters;
use crate::digest::DigestConfig;
use crate::output::Output;
use std::fmt;
use std::sync::Arc;
use traffic_manager::{
    Commit, ConfigError, Configuration, DelayLines, Destination, Model, ModelKind,
    PacketQueueState, Place, PortState, ServiceFlowState, Slot, Traffic,
};
use v1model::{
    DigestId, EgressFate, EgressMetadata, Fate, InstanceType, Packet, Pipeline, Program, Replica,
};

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
}

impl Default for DeviceConfig {
    fn default() -> Self {
        Self {
            device_id: 0,
            cpu_port: None,
            drop_port: 511,
            seed: 0,
            traffic_manager: ModelKind::Docsis,
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

/// A packet in a queue.
#[derive(Debug)]
struct Queued {
    packet: Packet,
    rid: u16,
    instance_type: InstanceType,
    /// Egress has run: the packet's buffer is the frame to send, and it waits
    /// for the tokens that egress made it need more of.
    done: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct PortCounters {
    received: Traffic,
    sent: Traffic,
    receive_overflow: Traffic,
    transmit_overflow: Traffic,
    send_failed: Traffic,
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
}

#[derive(Debug)]
struct Port {
    number: u16,
    link: Link,
    counters: PortCounters,
    receive_line: usize,
    transmit_line: usize,
}

/// A frame on a delay line.
#[derive(Debug)]
struct InFlight {
    port: u32,
    paced: bool,
    frame: Vec<u8>,
}

const NONE: u32 = u32::MAX;
/// Buffers and packets kept for reuse: enough for any steady state, and a
/// bound to what a burst leaves behind.
const POOL: usize = 4096;

type PipelineHook = Box<dyn FnMut(&mut Pipeline) + Send>;

/// One switch.
pub struct Device {
    config: DeviceConfig,
    pipeline: Option<Pipeline>,
    pipeline_hook: Option<PipelineHook>,
    tm: Model<Queued>,
    ports: Vec<Port>,
    /// Index by port number.
    port_index: Vec<u32>,
    receive_lines: DelayLines<InFlight>,
    transmit_lines: DelayLines<InFlight>,
    packets: Vec<Packet>,
    buffers: Vec<Vec<u8>>,
    /// The frame that egress makes.
    out: Vec<u8>,
    /// The replicas of the group in hand.
    replicas: Vec<Replica>,
    counters: DeviceCounters,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("config", &self.config)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl Device {
    /// A device without ports (but the CPU port, if it has one) and without a pipeline.
    #[must_use]
    pub fn new(config: DeviceConfig) -> Self {
        let mut device = Self {
            config,
            pipeline: None,
            pipeline_hook: None,
            tm: Model::new(config.traffic_manager),
            ports: Vec::new(),
            port_index: Vec::new(),
            receive_lines: DelayLines::default(),
            transmit_lines: DelayLines::default(),
            packets: Vec::new(),
            buffers: Vec::new(),
            out: Vec::new(),
            replicas: Vec::new(),
            counters: DeviceCounters::default(),
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
        self.ports.push(Port {
            number: port,
            link: Link {
                port,
                up: true,
                changes: 0,
            },
            counters: PortCounters::default(),
            receive_line: self.receive_lines.add(),
            transmit_line: self.transmit_lines.add(),
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

    /// Every port, the CPU port included, in the order they were added.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        self.ports.iter().map(|port| port.link)
    }

    fn index(&self, port: u16) -> Option<u32> {
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
        self.pipeline.as_mut()
    }

    /// Called with every new pipeline before it runs, to attach a log.
    pub fn set_pipeline_hook(&mut self, hook: impl FnMut(&mut Pipeline) + Send + 'static) {
        self.pipeline_hook = Some(Box::new(hook));
    }

    /// Runs a program from now on, with fresh state. What the old one queued is
    /// flushed: nobody could account for it.
    pub fn load(&mut self, now: u64, program: Arc<Program>) {
        let mut pipeline = Pipeline::new(program, self.config.seed);
        pipeline.set_drop_port(self.config.drop_port);
        for link in self.links().filter(|link| !link.up) {
            pipeline.set_port_up(link.port, false);
        }
        if let Some(hook) = &mut self.pipeline_hook {
            hook(&mut pipeline);
        }
        self.flush(now);
        self.pipeline = Some(pipeline);
    }

    fn flush(&mut self, now: u64) {
        for port in &self.ports {
            if let Some((_, _, queued)) = self.tm.port_state(port.number) {
                self.counters.flushed.frames += queued.frames;
                self.counters.flushed.bytes += queued.bytes;
            }
        }
        let packets = &mut self.packets;
        self.tm
            .flush(now, &mut |queued| recycle(packets, queued.packet));
    }

    // --- traffic manager ---------------------------------------------------

    /// Applies a whole request to the traffic manager, or nothing of it.
    ///
    /// # Errors
    /// A value out of range; the words name the port, the queue and the field.
    pub fn configure(&mut self, now: u64, request: &Configuration) -> Result<(), ConfigError> {
        let packets = &mut self.packets;
        self.tm.configure(now, request, &mut |queued| {
            recycle(packets, queued.packet);
        })?;
        for config in &request.ports {
            if let Some(index) = self.index(config.port) {
                let port = &self.ports[index as usize];
                let limit = config.effective_delay_limit();
                self.receive_lines
                    .configure(port.receive_line, config.receive_delay_ns, limit);
                self.transmit_lines
                    .configure(port.transmit_line, config.transmit_delay_ns, limit);
            }
        }
        Ok(())
    }

    /// Configuration, counters and state of the traffic manager, all of one moment.
    #[must_use]
    pub fn traffic_manager_state(&self, now: u64) -> TrafficManagerState {
        let ports = self.ports.iter().filter_map(|port| {
            let (config, queue_overflow, queued) = self.tm.port_state(port.number)?;
            Some(PortState {
                config,
                received: port.counters.received,
                sent: port.counters.sent,
                receive_overflow: port.counters.receive_overflow,
                transmit_overflow: port.counters.transmit_overflow,
                send_failed: port.counters.send_failed,
                queue_overflow,
                queued,
            })
        });
        TrafficManagerState {
            now_ns: now,
            ports: ports.collect(),
            service_flows: self.tm.service_flows(now),
            packet_queues: self.tm.packet_queues(),
        }
    }

    /// Drops that no other counter shows.
    #[must_use]
    pub fn counters(&self) -> &DeviceCounters {
        &self.counters
    }

    // --- digests -----------------------------------------------------------

    /// Switches a digest on, or changes it; `None` switches it off. All are off
    /// when a program is loaded.
    pub fn configure_digest(&mut self, now: u64, digest: DigestId, config: Option<DigestConfig>) {
        let _ = (now, digest, config);
    }

    /// How a digest is sent; `None` when it is off.
    #[must_use]
    pub fn digest_config(&self, digest: DigestId) -> Option<DigestConfig> {
        let _ = digest;
        None
    }

    /// The controller has taken a list of digests. False: there is none that
    /// waits for it.
    pub fn ack_digest(&mut self, now: u64, digest: DigestId, list_id: u64) -> bool {
        let _ = (now, digest, list_id);
        false
    }

    // --- packets -----------------------------------------------------------

    /// A frame came from a port's wire.
    pub fn receive(&mut self, now: u64, port: u16, frame: &[u8]) {
        let Some(index) = self.index(port) else {
            self.counters.no_such_port.count(frame.len());
            return;
        };
        let entry = &mut self.ports[index as usize];
        entry.counters.received.count(frame.len());
        let line = entry.receive_line;
        if self.receive_lines.is_wire(line) {
            self.ingress(now, port, frame);
        } else if self.receive_lines.has_room(line, frame.len()) {
            let mut buffer = self.buffers.pop().unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(frame);
            let in_flight = InFlight {
                port: index,
                paced: false,
                frame: buffer,
            };
            self.receive_lines.push(now, line, frame.len(), in_flight);
        } else {
            entry.counters.receive_overflow.count(frame.len());
        }
    }

    /// A packet-out: its bit-packed header and the frame.
    pub fn packet_out(&mut self, now: u64, bytes: &[u8]) {
        if let Some(port) = self.config.cpu_port {
            self.receive(now, port, bytes);
        }
    }

    /// A frame of `len` bytes was too long for the shell to receive it whole.
    pub fn receive_too_long(&mut self, len: usize) {
        self.counters.too_long.count(len);
    }

    /// The interface did not take frames that [`Output::transmit`] got.
    pub fn send_failed(&mut self, port: u16, failed: Traffic) {
        if let Some(index) = self.index(port) {
            let counters = &mut self.ports[index as usize].counters;
            counters.sent.frames -= failed.frames;
            counters.sent.bytes -= failed.bytes;
            counters.send_failed.frames += failed.frames;
            counters.send_failed.bytes += failed.bytes;
        }
    }

    fn ingress(&mut self, now: u64, port: u16, frame: &[u8]) {
        let Some(pipeline) = &mut self.pipeline else {
            self.counters.no_pipeline.count(frame.len());
            return;
        };
        let mut packet = self.packets.pop().unwrap_or_default();
        match pipeline.ingress(now, port, frame, &mut packet).fate {
            Fate::Drop | Fate::Resubmit => {
                self.counters.ingress_dropped.count(frame.len());
                recycle(&mut self.packets, packet);
            }
            Fate::Unicast { port } => {
                let queued = Queued {
                    packet,
                    rid: 0,
                    instance_type: InstanceType::Normal,
                    done: false,
                };
                self.enqueue(now, port, queued);
            }
            Fate::Multicast { group } => {
                self.replicas.clear();
                self.replicas
                    .extend_from_slice(pipeline.multicast().replicas(u32::from(group)));
                self.replicate(now, packet);
            }
        }
    }

    fn replicate(&mut self, now: u64, packet: Packet) {
        let Some(last) = self.replicas.len().checked_sub(1) else {
            self.counters.no_replicas.count(packet.received().len());
            recycle(&mut self.packets, packet);
            return;
        };
        for n in 0..last {
            let mut copy = self.packets.pop().unwrap_or_default();
            copy.copy_from(&packet);
            self.enqueue_replica(now, self.replicas[n], copy);
        }
        self.enqueue_replica(now, self.replicas[last], packet);
    }

    fn enqueue_replica(&mut self, now: u64, replica: Replica, packet: Packet) {
        let queued = Queued {
            packet,
            rid: replica.instance,
            instance_type: InstanceType::Replication,
            done: false,
        };
        self.enqueue(now, replica.port, queued);
    }

    /// The queue for a packet; without one it is counted as dropped.
    fn find_queue(&mut self, to: Destination, len: usize) -> Option<Slot> {
        match self.tm.place(to) {
            Place::Queue(slot) => Some(slot),
            Place::OwnQueue(slot) => {
                self.counters.no_such_queue.count(len);
                Some(slot)
            }
            Place::NoPort => {
                self.counters.no_such_port.count(len);
                None
            }
            Place::NoPriority => {
                self.counters.no_such_priority.count(len);
                None
            }
        }
    }

    fn enqueue(&mut self, now: u64, port: u16, mut queued: Queued) {
        let Some(pipeline) = &self.pipeline else {
            return;
        };
        let len = pipeline.frame_len(&queued.packet);
        let to = Destination {
            port,
            queue_id: pipeline.queue_id(&queued.packet),
            priority: pipeline.priority(&queued.packet),
        };
        let Some(slot) = self.find_queue(to, len) else {
            recycle(&mut self.packets, queued.packet);
            return;
        };
        let depth = self.tm.depth(slot).frames as u32;
        if let Some(pipeline) = &self.pipeline {
            pipeline.mark_enqueued(now, depth, &mut queued.packet);
        }
        if let Err(refused) = self.tm.enqueue(now, slot, len, queued) {
            recycle(&mut self.packets, refused.packet);
        }
    }

    /// Does the next thing that is due at `now`, if any: one frame leaves, is
    /// dropped by egress, or reaches ingress. To be called again with a fresh
    /// clock until it returns false.
    pub fn step(&mut self, now: u64, output: &mut impl Output) -> bool {
        if let Some((_, arrived)) = self.transmit_lines.pop(now) {
            let port = self.ports[arrived.port as usize].number;
            self.send(
                now,
                arrived.port,
                port,
                &arrived.frame,
                arrived.paced,
                output,
            );
            reuse(&mut self.buffers, arrived.frame);
            return true;
        }
        if self.dequeue(now, output) {
            return true;
        }
        if let Some((_, arrived)) = self.receive_lines.pop(now) {
            let port = self.ports[arrived.port as usize].number;
            self.ingress(now, port, &arrived.frame);
            reuse(&mut self.buffers, arrived.frame);
            return true;
        }
        false
    }

    /// Whether packets are in queues or on delay lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tm.is_empty()
            && self.receive_lines.next_deadline().is_none()
            && self.transmit_lines.next_deadline().is_none()
    }

    /// Does all that is due at `now`.
    pub fn poll(&mut self, now: u64, output: &mut impl Output) {
        while self.step(now, output) {}
    }

    /// When [`Self::step`] next has something to do, to the nanosecond; a time
    /// not after the last call's is "now", `None` is "when a frame comes".
    pub fn next_deadline(&mut self) -> Option<u64> {
        [
            self.tm.next_deadline(),
            self.receive_lines.next_deadline(),
            self.transmit_lines.next_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn dequeue(&mut self, now: u64, output: &mut impl Output) -> bool {
        let Some(offer) = self.tm.offer(now) else {
            return false;
        };
        let (Some(pipeline), Some(queued)) = (&mut self.pipeline, self.tm.offered_mut()) else {
            // Frames are only queued by a pipeline, and flushed with it.
            return false;
        };
        if queued.done {
            std::mem::swap(&mut self.out, queued.packet.buffer());
        } else {
            let metadata = EgressMetadata {
                port: offer.queue.port,
                rid: queued.rid,
                instance_type: queued.instance_type,
                deq_qdepth: offer.left.frames as u32,
                queue: 0,
            };
            let verdict = pipeline.egress(now, &metadata, &mut queued.packet, &mut self.out);
            if verdict.fate != EgressFate::Send {
                let len = queued.packet.received().len();
                if !offer.shaped {
                    self.counters.egress_dropped.count(len);
                }
                if let Some(dropped) = self.tm.discard() {
                    recycle(&mut self.packets, dropped.packet);
                }
                return true;
            }
        }
        match self.tm.commit(self.out.len()) {
            Some(Commit::Sent(sent)) => {
                recycle(&mut self.packets, sent.packet);
                self.leave(now, offer.queue.port, offer.paced, output);
            }
            Some(Commit::Held(queued)) => {
                queued.done = true;
                std::mem::swap(&mut self.out, queued.packet.buffer());
            }
            Some(Commit::TooLong(dropped)) => recycle(&mut self.packets, dropped.packet),
            None => {}
        }
        true
    }

    /// The frame in `out` starts on the link from a port.
    fn leave(&mut self, now: u64, port: u16, paced: bool, output: &mut impl Output) {
        let Some(index) = self.index(port) else {
            // The bmv2 model has queues for ports that do not exist.
            self.counters.no_such_port.count(self.out.len());
            return;
        };
        let line = self.ports[index as usize].transmit_line;
        if self.transmit_lines.is_wire(line) {
            let out = std::mem::take(&mut self.out);
            self.send(now, index, port, &out, paced, output);
            self.out = out;
        } else if self.transmit_lines.has_room(line, self.out.len()) {
            let spare = self.buffers.pop().unwrap_or_default();
            let frame = std::mem::replace(&mut self.out, spare);
            let len = frame.len();
            let in_flight = InFlight {
                port: index,
                paced,
                frame,
            };
            self.transmit_lines.push(now, line, len, in_flight);
        } else {
            let counters = &mut self.ports[index as usize].counters;
            counters.transmit_overflow.count(self.out.len());
        }
    }

    fn send(
        &mut self,
        now: u64,
        index: u32,
        port: u16,
        frame: &[u8],
        paced: bool,
        output: &mut impl Output,
    ) {
        if self.config.cpu_port == Some(port) {
            if !output.packet_in(now, frame) {
                self.counters.packet_in_dropped.count(frame.len());
                return;
            }
        } else {
            output.transmit(now, port, frame, paced);
        }
        self.ports[index as usize].counters.sent.count(frame.len());
    }
}

fn recycle(packets: &mut Vec<Packet>, packet: Packet) {
    if packets.len() < POOL {
        packets.push(packet);
    }
}

fn reuse(buffers: &mut Vec<Vec<u8>>, buffer: Vec<u8>) {
    if buffers.len() < POOL {
        buffers.push(buffer);
    }
}
