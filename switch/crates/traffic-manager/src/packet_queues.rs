// SPDX-License-Identifier: Apache-2.0
//! BMv2's traffic manager: a few queues for each port, strict priority between
//! them, limits and rates in packets.
//!
//! When a packet is queued, its time to leave is fixed. That is the time of the
//! packet before it, plus one packet's time at the queue's rate, but not before
//! now. So a queue saves up nothing while it is empty, and a new rate counts for
//! later packets only. Of the packets whose time has come, on all ports together,
//! the one with the highest priority leaves first, then the one whose time came first.

use crate::config::{Configuration, PortConfig};
use crate::error::ConfigError;
use crate::framing::Framing;
use crate::manager::{Commit, Offer, Slot};
use crate::packet_queue_config::{
    MAX_CHANGED, PacketQueueChange, PacketQueueConfig, PacketQueueState,
};
use crate::queue_id::QueueId;
use crate::traffic::Traffic;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// Packets that a queue holds unless configured otherwise, as in BMv2.
pub const DEFAULT_DEPTH: u32 = 64;
/// Most priorities that a port may have, as in BMv2.
pub const MAX_PRIORITIES: u8 = 32;

#[derive(Debug)]
struct Entry<T> {
    /// When it may leave.
    at: u64,
    /// Order of arrival among all queues.
    order: u64,
    len: u32,
    /// It had to wait for its time.
    paced: bool,
    item: T,
}

#[derive(Debug)]
struct Queue<T> {
    state: PacketQueueState,
    /// Nanoseconds between two packets.
    interval: u64,
    /// When the last packet that was queued leaves.
    last: Option<u64>,
    fifo: VecDeque<Entry<T>>,
}

impl<T> Queue<T> {
    fn new(queue: QueueId, depth: u32, rate: u64) -> Self {
        let config = PacketQueueConfig { queue, depth, rate };
        Self {
            state: PacketQueueState {
                config,
                ..Default::default()
            },
            interval: interval(rate),
            last: None,
            fifo: VecDeque::new(),
        }
    }

    fn set_rate(&mut self, rate: u64) {
        self.state.config.rate = rate;
        self.interval = interval(rate);
    }
}

/// Nanoseconds a packet at `rate` packets/s; 0 is no limit.
fn interval(rate: u64) -> u64 {
    1_000_000_000u64.checked_div(rate).unwrap_or(0)
}

const NONE: u32 = u32::MAX;

fn is_set(flags: &[bool], index: usize) -> bool {
    flags.get(index).copied().unwrap_or(false)
}

/// The queues of a device's ports. `T` is a packet on its way.
#[derive(Debug)]
pub struct PacketQueues<T> {
    now: u64,
    priorities: u8,
    /// What queues start with that are made later.
    depth: u32,
    rate: u64,
    ports: Vec<PortConfig>,
    /// Index by port number, of ports that were added.
    port_index: Vec<u32>,
    /// First of a port's queues by port number; one for each priority follows.
    first: Vec<u32>,
    queues: Vec<Queue<T>>,
    /// By priority: the heads of its queues that are not empty.
    heads: Vec<BinaryHeap<Reverse<(u64, u64, u32)>>>,
    /// By port number: its link takes nothing, and its queues are not in `heads`.
    held: Vec<bool>,
    arrivals: u64,
    offered: Option<u32>,
}

impl<T> PacketQueues<T> {
    /// No ports yet; `priorities` of queues on each, 1 to [`MAX_PRIORITIES`].
    #[must_use]
    pub fn new(priorities: u8) -> Self {
        let priorities = priorities.clamp(1, MAX_PRIORITIES);
        Self {
            now: 0,
            priorities,
            depth: DEFAULT_DEPTH,
            rate: 0,
            ports: Vec::new(),
            port_index: Vec::new(),
            first: Vec::new(),
            queues: Vec::new(),
            heads: (0..priorities).map(|_| BinaryHeap::new()).collect(),
            held: Vec::new(),
            arrivals: 0,
            offered: None,
        }
    }

    /// Queues on each port.
    #[must_use]
    pub fn priorities(&self) -> u8 {
        self.priorities
    }

    /// Adds a port; one that is there stays as it is.
    pub fn add_port(&mut self, port: u16) {
        let number = usize::from(port);
        if self.port_index.len() <= number {
            self.port_index.resize(number + 1, NONE);
        }
        if self.port_index[number] == NONE {
            self.port_index[number] = self.ports.len() as u32;
            self.ports.push(PortConfig {
                port,
                ..Default::default()
            });
            self.open(port);
        }
    }

    /// A port's first queue. They are made for whatever port a program sends
    /// to, as in BMv2: its egress may clone or recirculate what could not leave.
    fn open(&mut self, port: u16) -> u32 {
        let number = usize::from(port);
        if self.first.len() <= number {
            self.first.resize(number + 1, NONE);
        }
        if self.first[number] == NONE {
            self.first[number] = self.queues.len() as u32;
            for priority in 0..self.priorities {
                let queue = QueueId {
                    port,
                    queue_id: u32::from(priority),
                };
                self.queues.push(Queue::new(queue, self.depth, self.rate));
            }
        }
        self.first[number]
    }

    /// A port's queue; `None` where `priority` is not below
    /// [`Self::priorities`].
    pub fn queue(&mut self, port: u16, priority: u8) -> Option<Slot> {
        if priority >= self.priorities {
            return None;
        }
        Some(Slot(self.open(port) + u32::from(priority)))
    }

    /// What is queued there now.
    #[must_use]
    pub fn depth(&self, slot: Slot) -> Traffic {
        self.queues[slot.0 as usize].state.queued
    }

    fn advance(&mut self, now: u64) {
        debug_assert!(now >= self.now, "time runs backwards");
        self.now = self.now.max(now);
    }

    /// Counts a packet of `len` bytes as overflow that is not to be queued.
    pub fn refuse(&mut self, slot: Slot, len: usize) {
        self.queues[slot.0 as usize].state.overflow.count(len);
    }

    /// Queues a packet of `len` bytes.
    ///
    /// # Errors
    /// Hands the packet back, counted as overflow, when the queue is full.
    pub fn enqueue(&mut self, now: u64, slot: Slot, len: usize, item: T) -> Result<(), T> {
        self.advance(now);
        let queue = &mut self.queues[slot.0 as usize];
        if queue.state.queued.frames >= u64::from(queue.state.config.depth) {
            queue.state.overflow.count(len);
            return Err(item);
        }
        let at = match queue.last {
            Some(last) => self.now.max(last.saturating_add(queue.interval)),
            None => self.now,
        };
        queue.last = Some(at);
        queue.state.enqueued.count(len);
        queue.state.queued.count(len);
        self.arrivals += 1;
        let port = usize::from(queue.state.config.queue.port);
        if queue.fifo.is_empty() && !is_set(&self.held, port) {
            let priority = queue.state.config.queue.queue_id as usize;
            self.heads[priority].push(Reverse((at, self.arrivals, slot.0)));
        }
        queue.fifo.push_back(Entry {
            at,
            order: self.arrivals,
            len: u32::try_from(len).unwrap_or(u32::MAX),
            paced: at > self.now,
            item,
        });
        Ok(())
    }

    /// The link of a port takes nothing for now: its packets stay queued until
    /// it does, and those of other ports pass them.
    pub fn set_held(&mut self, port: u16, held: bool) {
        let number = usize::from(port);
        if is_set(&self.held, number) == held {
            return;
        }
        if self.held.len() <= number {
            self.held.resize(number + 1, false);
        }
        self.held[number] = held;
        let Some(&first) = self.first.get(number).filter(|&&first| first != NONE) else {
            return;
        };
        for priority in 0..u32::from(self.priorities) {
            let slot = first + priority;
            let heads = &mut self.heads[priority as usize];
            if held {
                heads.retain(|&Reverse((_, _, other))| other != slot);
            } else if let Some(head) = self.queues[slot as usize].fifo.front() {
                heads.push(Reverse((head.at, head.order, slot)));
            }
        }
        // What was on offer is chosen anew.
        self.offered = None;
    }

    fn select(&self) -> Option<u32> {
        self.heads
            .iter()
            .rev()
            .filter_map(BinaryHeap::peek)
            .find(|Reverse((at, ..))| *at <= self.now)
            .map(|&Reverse((_, _, slot))| slot)
    }

    /// The packet that leaves next, if one may leave now. It stays at the head
    /// of its queue until [`Self::commit`] or [`Self::discard`].
    pub fn offer(&mut self, now: u64) -> Option<Offer> {
        self.advance(now);
        let slot = match self.offered {
            Some(slot) => slot,
            None => self.select()?,
        };
        self.offered = Some(slot);
        let queue = &self.queues[slot as usize];
        let head = queue.fifo.front()?;
        let mut left = queue.state.queued;
        left.uncount(head.len as usize);
        Some(Offer {
            queue: queue.state.config.queue,
            shaped: false,
            paced: head.paced,
            left,
        })
    }

    /// The packet that leaves next, if one may leave by `until`, and when it may: not
    /// before `now`.
    pub fn offer_by(&mut self, now: u64, until: u64) -> Option<(u64, Offer)> {
        self.advance(now);
        let at = self.next_deadline().filter(|&at| at <= until)?;
        self.offer(at).map(|offer| (at, offer))
    }

    /// The time of the last call.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The offered packet.
    pub fn offered_mut(&mut self) -> Option<&mut T> {
        let slot = self.offered?;
        let head = self.queues[slot as usize].fifo.front_mut()?;
        Some(&mut head.item)
    }

    fn pop(&mut self) -> Option<(u32, Entry<T>)> {
        let slot = self.offered.take()?;
        let queue = &mut self.queues[slot as usize];
        let entry = queue.fifo.pop_front()?;
        queue.state.queued.uncount(entry.len as usize);
        let id = queue.state.config.queue;
        let priority = id.queue_id as usize;
        let held = is_set(&self.held, id.port.into());
        let next = queue.fifo.front().filter(|_| !held);
        let next = next.map(|next| (next.at, next.order));
        let heads = &mut self.heads[priority];
        // Usually it is at the top: only another offer's withdrawal and
        // arrivals in between can have put something else there.
        if matches!(heads.peek(), Some(&Reverse((_, _, top))) if top == slot) {
            heads.pop();
        } else {
            heads.retain(|&Reverse((_, _, other))| other != slot);
        }
        if let Some((at, order)) = next {
            heads.push(Reverse((at, order, slot)));
        }
        Some((slot, entry))
    }

    /// The offered packet leaves. `None` when nothing is on offer.
    pub fn commit(&mut self) -> Option<Commit<'_, T>> {
        let (slot, entry) = self.pop()?;
        let state = &mut self.queues[slot as usize].state;
        state.dequeued.count(entry.len as usize);
        Some(Commit::Sent(entry.item))
    }

    /// The offered packet leaves, but not for the link.
    pub fn withdraw(&mut self) -> Option<T> {
        let (slot, entry) = self.pop()?;
        let state = &mut self.queues[slot as usize].state;
        state.dequeued.count(entry.len as usize);
        Some(entry.item)
    }

    /// The egress pipeline dropped the offered packet.
    pub fn discard(&mut self) -> Option<T> {
        let (slot, entry) = self.pop()?;
        let state = &mut self.queues[slot as usize].state;
        state.egress_dropped.count(entry.len as usize);
        Some(entry.item)
    }

    /// When [`Self::offer`] has a packet, exact to the nanosecond; a time not
    /// after the last call's is "now".
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        if self.offered.is_some() {
            return Some(self.now);
        }
        let heads = self.heads.iter().filter_map(BinaryHeap::peek);
        heads.map(|&Reverse((at, ..))| at.max(self.now)).min()
    }

    fn has_port(&self, port: u16) -> bool {
        self.port_index
            .get(usize::from(port))
            .is_some_and(|&index| index != NONE)
    }

    /// Checks a request without applying it.
    ///
    /// # Errors
    /// A service flow or a port's rate, which this model does not have; a port
    /// or a priority that is not there; a depth or rate out of range; a change of
    /// nothing; more than [`MAX_CHANGED`] changes of queues.
    pub fn check(&self, request: &Configuration) -> Result<(), ConfigError> {
        if let Some(flow) = request.service_flows.first() {
            return Err(ConfigError::other_model(flow.queue, "service flows"));
        }
        if let Some(queue) = request.removed.first() {
            return Err(ConfigError::other_model(queue, "service flows"));
        }
        let mut ports = BTreeSet::new();
        for config in &request.ports {
            config.check()?;
            let place = format!("port {}", config.port);
            if !self.has_port(config.port) {
                return Err(ConfigError::invalid(place, "no such port"));
            }
            if config.rate != 0 {
                return Err(ConfigError::other_model(place, "port rates in bit/s"));
            }
            if config.burst != 0 {
                return Err(ConfigError::other_model(place, "bursts in bytes"));
            }
            if config.framing != Framing::default() {
                return Err(ConfigError::other_model(place, "packets that carry frames"));
            }
            if config.queue_limit != 0 {
                return Err(ConfigError::other_model(place, "queue limits in bytes"));
            }
            if config.loop_back {
                return Err(ConfigError::other_model(place, "ports that loop back"));
            }
            if !ports.insert(config.port) {
                return Err(ConfigError::invalid(place, "named twice"));
            }
        }
        let with_queues = self.queues.len() / usize::from(self.priorities);
        let mut named = 0;
        for change in &request.packet_queues {
            change.check(self.priorities)?;
            if let Some(port) = change.port.filter(|&port| !self.has_port(port)) {
                let place = format!("port {port}");
                return Err(ConfigError::invalid(place, "no such port"));
            }
            named += change.named(with_queues, self.priorities);
            if named > MAX_CHANGED {
                let words = format!(
                    "more than {MAX_CHANGED} queues are to change; make several requests of this one"
                );
                return Err(ConfigError::invalid("packet_queues", words));
            }
        }
        Ok(())
    }

    /// Applies a whole request, or nothing of it. What is queued stays, with
    /// the times that it has.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn configure(&mut self, now: u64, request: &Configuration) -> Result<(), ConfigError> {
        self.check(request)?;
        self.advance(now);
        for config in &request.ports {
            let index = self.port_index[usize::from(config.port)];
            self.ports[index as usize] = *config;
        }
        for change in &request.packet_queues {
            self.change(change);
        }
        Ok(())
    }

    fn change(&mut self, change: &PacketQueueChange) {
        // A port's queues lie together, by priority.
        let priorities = usize::from(self.priorities);
        let queues = match change.port {
            Some(port) => {
                let first = self.first[usize::from(port)] as usize;
                &mut self.queues[first..first + priorities]
            }
            None => &mut self.queues[..],
        };
        let (skip, step) = match change.priority {
            Some(priority) => (usize::from(priority), priorities),
            None => (0, 1),
        };
        for queue in queues.iter_mut().skip(skip).step_by(step) {
            if let Some(depth) = change.depth {
                queue.state.config.depth = depth;
            }
            if let Some(rate) = change.rate {
                queue.set_rate(rate);
            }
        }
        // Global, as in BMv2: queues that are made later, too.
        if change.port.is_none() && change.priority.is_none() {
            self.depth = change.depth.unwrap_or(self.depth);
            self.rate = change.rate.unwrap_or(self.rate);
        }
    }

    /// Hands every queued packet back, counted as flushed.
    pub fn flush(&mut self, now: u64, sink: &mut dyn FnMut(T)) {
        self.advance(now);
        self.offered = None;
        for heads in &mut self.heads {
            heads.clear();
        }
        for queue in &mut self.queues {
            queue.last = None;
            for entry in queue.fifo.drain(..) {
                queue.state.queued.uncount(entry.len as usize);
                queue.state.flushed.count(entry.len as usize);
                sink(entry.item);
            }
        }
    }

    /// A port's configuration, and of all its queues what overflowed and what
    /// is in them now.
    #[must_use]
    pub fn port_state(&self, port: u16) -> Option<(PortConfig, Traffic, Traffic)> {
        let number = usize::from(port);
        let index = *self.port_index.get(number)?;
        let config = *self.ports.get(index as usize)?;
        let first = *self.first.get(number)? as usize;
        let (mut overflow, mut queued) = (Traffic::default(), Traffic::default());
        for queue in self.queues.iter().skip(first).take(self.priorities.into()) {
            overflow.add(queue.state.overflow);
            queued.add(queue.state.queued);
        }
        Some((config, overflow, queued))
    }

    /// Whether nothing is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.fifo.is_empty())
    }

    /// Every queue, by port and priority.
    #[must_use]
    pub fn packet_queues(&self) -> Vec<PacketQueueState> {
        let mut states: Vec<_> = self.queues.iter().map(|queue| queue.state).collect();
        states.sort_by_key(|state| state.config.queue);
        states
    }
}
