// SPDX-License-Identifier: Apache-2.0
//! All queues of a device.

mod acks;
mod configure;
mod granted;
mod grants;

pub use acks::SegmentArrival;

use crate::bucket::PortBucket;
use crate::config::{PortConfig, ServiceFlowState};
use crate::entitled::{Entitled, Positions};
use crate::queue::{Queue, Standing};
use crate::queue_id::QueueId;
use crate::reservation::Saved;
use crate::round_robin::{Links, Round};
use crate::traffic::Traffic;
use prefetch::fetch;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A queue, found once a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(pub(crate) u32);

/// The head frame of a queue that may send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Where it is queued.
    pub queue: QueueId,
    /// False for a port's own queue.
    pub shaped: bool,
    /// Tokens, not the frames' arrival, decide when the queue's frames leave:
    /// it has waited for them since it was last empty, and they come slowly
    /// enough for the moment to matter (2 us a frame and more).
    pub paced: bool,
    /// What stays in the queue behind it.
    pub left: Traffic,
}

/// What became of an offered frame that the egress pipeline let pass.
#[derive(Debug, PartialEq, Eq)]
pub enum Commit<'q, T> {
    /// It leaves now; its tokens are spent.
    Sent(T),
    /// Egress made it longer than the tokens of its queue or its port allow: it
    /// stays at the head of its queue and will be offered again when they do.
    Held(&'q mut T),
    /// Egress made it longer than the bucket is deep: dropped as overflow.
    TooLong(T),
}

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Port {
    config: PortConfig,
    bucket: PortBucket,
    /// Bytes on the line so far, with all that the framing adds.
    line_bytes: u64,
    /// All ready queues.
    round: Round,
    /// Those of them that have a minimum reserved rate.
    entitled: Entitled,
    /// In `active`.
    active: bool,
    /// Short of tokens until then; has a timer.
    blocked: Option<u64>,
    /// Slot by queue_id.
    slots: Vec<u32>,
    /// Slot of the port's own queue: that of queue_id 0, but on a granted port.
    own: u32,
    /// Where grants let frames go: the queue_id of what goes to queue 0.
    primary: Option<u32>,
}

impl Port {
    /// Bytes go onto the line now.
    fn carry(&mut self, now: u64, line_bytes: u64) {
        self.bucket.spend(now, line_bytes);
        self.line_bytes += line_bytes;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Queue(u32),
    Port(u32),
}

/// The head frame that is next.
#[derive(Debug, Clone, Copy)]
struct Chosen {
    slot: u32,
    /// Within its minimum reserved rate, and not as the round's turn.
    entitled: bool,
}

/// The queues of a device's ports. `T` is a frame on its way.
#[derive(Debug)]
pub struct TrafficManager<T> {
    now: u64,
    ports: Vec<Port>,
    /// Index by port number.
    port_index: Vec<u32>,
    queues: Vec<Option<Queue<T>>>,
    /// Where the slots stand in their ports' `round` and `entitled`.
    links: Links,
    positions: Positions,
    free: Vec<u32>,
    /// Entries that the queue or port does not confirm are out of date.
    timers: BinaryHeap<Reverse<(u64, Timer)>>,
    /// Ports with a ready queue that are not known to lack tokens.
    active: VecDeque<u32>,
    offered: Option<Chosen>,
    /// Where the head is that was chosen last, if nobody has asked since.
    upcoming: Option<u32>,
    /// Granted queues of which somebody is to be told, each once.
    notices: VecDeque<u32>,
}

impl<T> Default for TrafficManager<T> {
    fn default() -> Self {
        Self {
            now: 0,
            ports: Vec::new(),
            port_index: Vec::new(),
            queues: Vec::new(),
            links: Links::default(),
            positions: Positions::default(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            active: VecDeque::new(),
            offered: None,
            upcoming: None,
            notices: VecDeque::new(),
        }
    }
}

impl<T> TrafficManager<T> {
    /// Adds a port with its own queue; a port that is there stays as it is.
    pub fn add_port(&mut self, port: u16) {
        let number = usize::from(port);
        if self.port_index.len() <= number {
            self.port_index.resize(number + 1, NONE);
        }
        if self.port_index[number] != NONE {
            return;
        }
        let index = self.ports.len() as u32;
        self.port_index[number] = index;
        let config = PortConfig {
            port,
            ..Default::default()
        };
        self.ports.push(Port {
            config,
            bucket: PortBucket::new(self.now, 0, config.effective_burst()),
            line_bytes: 0,
            round: Round::default(),
            entitled: Entitled::default(),
            active: false,
            blocked: None,
            slots: Vec::new(),
            own: NONE,
            primary: None,
        });
        let queue = Queue::port_queue(self.now, port, index, config.effective_queue_limit());
        let slot = self.allocate(queue);
        let port = &mut self.ports[index as usize];
        port.own = slot;
        port.slots.push(slot);
    }

    fn allocate(&mut self, queue: Queue<T>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.queues[slot as usize] = Some(queue);
            slot
        } else {
            self.queues.push(Some(queue));
            self.links.grow(self.queues.len());
            self.positions.grow(self.queues.len());
            self.queues.len() as u32 - 1
        }
    }

    fn port(&self, port: u16) -> Option<u32> {
        self.port_index
            .get(usize::from(port))
            .copied()
            .filter(|&index| index != NONE)
    }

    /// Slots are only ever held while their queue exists.
    fn queue(&self, slot: u32) -> &Queue<T> {
        self.queues[slot as usize].as_ref().expect("a live slot")
    }

    fn queue_mut(&mut self, slot: u32) -> &mut Queue<T> {
        self.queues[slot as usize].as_mut().expect("a live slot")
    }

    /// The queue with this id, if the port has it.
    #[must_use]
    pub fn lookup(&self, queue: QueueId) -> Option<Slot> {
        let port = &self.ports[self.port(queue.port)? as usize];
        match port.slots.get(queue.queue_id as usize) {
            Some(&slot) if slot != NONE => Some(Slot(slot)),
            _ => None,
        }
    }

    /// What is queued there now.
    #[must_use]
    pub fn depth(&self, slot: Slot) -> Traffic {
        self.queue(slot.0).depth()
    }

    /// Queues a frame of `len` bytes, in one of the queue's sub-queues: modulo
    /// their number, where it has none of that number.
    ///
    /// # Errors
    /// Hands the frame back, counted as overflow, when the queue is full or no
    /// bucket will ever hold enough tokens for it.
    pub fn enqueue(
        &mut self,
        now: u64,
        slot: Slot,
        sub_queue: u32,
        len: usize,
        item: T,
    ) -> Result<(), T> {
        self.advance(now);
        let queue = self.queue_mut(slot.0);
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        if queue.standing == Standing::Granted {
            return self.enqueue_granted(slot.0, sub_queue, len, item);
        }
        queue.push(sub_queue, len, item)?;
        if queue.standing == Standing::Empty {
            queue.resume(now, Saved::Idle);
            self.stand(slot.0);
        }
        Ok(())
    }

    /// Counts a frame of `len` bytes as overflow that is not to be queued.
    pub fn refuse(&mut self, slot: Slot, len: usize) {
        self.queue_mut(slot.0).refuse(len);
    }

    fn advance(&mut self, now: u64) {
        debug_assert!(now >= self.now, "time runs backwards");
        self.now = self.now.max(now);
    }

    /// Decides anew where a queue stands that is neither ready nor confirmed waiting.
    fn stand(&mut self, slot: u32) {
        let now = self.now;
        let queue = self.queues[slot as usize].as_mut().expect("a live slot");
        let Some(len) = queue.head() else {
            queue.standing = Standing::Empty;
            queue.turn = Default::default();
            queue.waited = false;
            return;
        };
        // A head that can never go is offered: `offer` throws it out.
        let at = queue.ready_at(len).unwrap_or(0);
        if at > now {
            self.wait(slot, len, at);
        } else {
            self.enter(slot);
        }
    }

    /// Puts a queue whose head has its tokens into its port's round.
    fn enter(&mut self, slot: u32) {
        let queue = self.queues[slot as usize].as_mut().expect("a live slot");
        queue.standing = Standing::Ready;
        let (index, turn, priority) = (queue.port, queue.turn, queue.config.traffic_priority);
        let port = &mut self.ports[index as usize];
        port.round.enter(&mut self.links, slot, priority, turn);
        if let Some(since) = queue.entitled_since() {
            port.entitled.set(&mut self.positions, slot, since);
        }
        self.activate(index);
    }

    /// The queue's head, of `len` bytes, is short of tokens until `at`.
    fn wait(&mut self, slot: u32, len: u32, at: u64) {
        let now = self.now;
        let queue = self.queue_mut(slot);
        queue.standing = Standing::Waiting(at);
        queue.waited = queue.waited || queue.is_paced(now, len);
        self.set_timer(at, Timer::Queue(slot));
    }

    /// Entries that are out of date, or there twice, are thrown out before they
    /// are more than the others.
    fn set_timer(&mut self, at: u64, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
        if self.timers.len() > 64 + 2 * (self.queues.len() + self.ports.len()) {
            let mut timers = std::mem::take(&mut self.timers).into_vec();
            timers.sort_unstable();
            timers.dedup();
            timers.retain(|&Reverse((at, timer))| self.confirmed(at, timer));
            self.timers = BinaryHeap::from(timers);
        }
    }

    /// The port looks again for something to send: the head frame changed.
    fn activate(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        port.blocked = None;
        if !port.active {
            port.active = true;
            self.active.push_back(index);
        }
    }

    /// Takes a queue out of its port's round, if it is there.
    fn stand_down(&mut self, slot: u32) {
        let queue = self.queues[slot as usize].as_mut().expect("a live slot");
        if queue.standing == Standing::Granted {
            return;
        }
        if queue.standing == Standing::Ready {
            let port = &mut self.ports[queue.port as usize];
            let priority = queue.config.traffic_priority;
            port.round.leave(&mut self.links, slot, priority);
            if queue.config.min_reserved_rate != 0 {
                port.entitled.remove(&mut self.positions, slot);
            }
        }
        if let Standing::Waiting(_) = queue.standing {
            queue.resume(self.now, Saved::Shaped);
        }
        queue.standing = Standing::Empty;
    }

    fn confirmed(&self, at: u64, timer: Timer) -> bool {
        match timer {
            Timer::Queue(slot) => self.queues[slot as usize]
                .as_ref()
                .is_some_and(|queue| queue.standing == Standing::Waiting(at)),
            Timer::Port(index) => self.ports[index as usize].blocked == Some(at),
        }
    }

    fn fire_timers(&mut self) {
        while let Some(&Reverse((at, timer))) = self.timers.peek() {
            if at > self.now {
                break;
            }
            self.timers.pop();
            if self.confirmed(at, timer) {
                self.fire(at, timer);
            }
        }
    }

    /// What a confirmed timer was set for.
    fn fire(&mut self, at: u64, timer: Timer) {
        match timer {
            Timer::Queue(slot) => {
                let queue = self.queue_mut(slot);
                queue.resume(at, Saved::Shaped);
                // Nothing spends the tokens of a queue that waits: it has them now.
                debug_assert!(queue.head().and_then(|len| queue.ready_at(len)) <= Some(at));
                self.enter(slot);
            }
            Timer::Port(index) => self.activate(index),
        }
    }

    /// Which of a port's queues is next.
    fn choose(&mut self, index: u32) -> Option<Chosen> {
        let port = &mut self.ports[index as usize];
        if let Some((since, slot)) = port.entitled.first()
            && since <= self.now
        {
            return Some(Chosen {
                slot,
                entitled: true,
            });
        }
        let queues = &mut self.queues;
        let slot = port.round.next(&self.links, |slot| {
            let queue = queues[slot as usize].as_mut().expect("a live slot");
            queue.turn.covers(queue.head().unwrap_or(0))
        })?;
        self.fetch_after(slot);
        Some(Chosen {
            slot,
            entitled: false,
        })
    }

    /// Asks for what the next two turns of a round need: the queue that comes next but one, and the
    /// head of the next one, which has been asked for before.
    #[inline]
    fn fetch_after(&self, slot: u32) {
        let next = self.links.next(slot);
        let queues = &self.queues;
        if let Some(Some(queue)) = queues.get(next as usize)
            && let Some(head) = queue.frames.head()
        {
            fetch(head);
        }
        if let Some(queue) = queues.get(self.links.next(next) as usize) {
            fetch(queue);
        }
    }

    /// When the port may start on a queue's head.
    #[inline]
    fn port_ready_at(&self, index: u32, slot: u32) -> u64 {
        let bucket = &self.ports[index as usize].bucket;
        if bucket.is_unlimited() {
            return 0;
        }
        let len = self.queue(slot).head().unwrap_or(0);
        let framing = &self.ports[index as usize].config.framing;
        bucket.ready_at(framing.line_bytes(u64::from(len)))
    }

    /// The slot whose head may go now.
    fn select(&mut self) -> Option<Chosen> {
        self.fire_timers();
        loop {
            let index = *self.active.front()?;
            if let Some(chosen) = self.choose(index) {
                self.upcoming = Some(chosen.slot);
                let mut at = self.port_ready_at(index, chosen.slot);
                if at <= self.now {
                    return Some(chosen);
                }
                // A shorter frame that is entitled meanwhile may go before.
                if let Some((from, slot)) = self.ports[index as usize].entitled.first()
                    && !chosen.entitled
                    && from < at
                {
                    at = at.min(from.max(self.port_ready_at(index, slot)));
                }
                self.ports[index as usize].blocked = Some(at);
                self.set_timer(at, Timer::Port(index));
            }
            self.ports[index as usize].active = false;
            self.active.pop_front();
        }
    }

    /// The frame that leaves next, if one may leave now. It stays at the head
    /// of its queue until [`Self::commit`] or [`Self::discard`].
    pub fn offer(&mut self, now: u64) -> Option<Offer> {
        self.advance(now);
        let chosen = match self.offered {
            Some(chosen) => chosen,
            None => self.select()?,
        };
        self.offered = Some(chosen);
        Some(self.queue(chosen.slot).offer())
    }

    /// The frame that leaves next, if one may leave by `until`, and when it may: not
    /// before `now`. Timers fire one by one, each at its own time, so that [`Self::now`]
    /// may have gone on when there is none, but not beyond `until`.
    pub fn offer_by(&mut self, now: u64, until: u64) -> Option<(u64, Offer)> {
        self.advance(now);
        while self.now <= until {
            if let Some(offer) = self.offer(self.now) {
                return Some((self.now, offer));
            }
            // All that were due have fired: on to the next one that counts.
            loop {
                let &Reverse((at, timer)) = self.timers.peek()?;
                if at > until {
                    return None;
                }
                self.timers.pop();
                if self.confirmed(at, timer) {
                    self.advance(at);
                    self.fire(at, timer);
                    break;
                }
            }
        }
        None
    }

    /// The time of the last call, or of the last timer that fired in it.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// When the first timer fires.
    fn next_timer(&mut self) -> Option<u64> {
        while let Some(&Reverse((at, timer))) = self.timers.peek() {
            if self.confirmed(at, timer) {
                return Some(at);
            }
            self.timers.pop();
        }
        None
    }

    /// The offered frame.
    pub fn offered_mut(&mut self) -> Option<&mut T> {
        let slot = self.offered?.slot;
        let head = self.queue_mut(slot).frames.head_mut()?;
        Some(&mut head.item)
    }

    /// The frame that was found to be next, once: it is likely to be on offer soon, and may be
    /// fetched until then. Others may still go before it.
    pub fn upcoming(&mut self) -> Option<&T> {
        let slot = self.upcoming.take()?;
        let head = self.queues[slot as usize].as_ref()?.frames.head()?;
        Some(&head.item)
    }

    /// The offered frame leaves, `len` bytes long after egress. `None` when
    /// nothing is on offer.
    pub fn commit(&mut self, len: usize) -> Option<Commit<'_, T>> {
        let Chosen { slot, entitled } = self.offered.take()?;
        let now = self.now;
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        if self.queue(slot).standing == Standing::Granted {
            return self.commit_granted(slot, len);
        }
        let index = self.queue(slot).port;
        let port = &self.ports[index as usize];
        let line_bytes = port.config.framing.line_bytes(u64::from(len));
        let port_at = port.bucket.ready_at(line_bytes);
        let queue = self.queue_mut(slot);
        if port_at <= now && queue.spend(now, len) {
            let item = queue.send(now, len, entitled)?;
            self.ports[index as usize].carry(now, line_bytes);
            self.settle(slot, index);
            Some(Commit::Sent(item))
        } else if queue.ready_at(len).is_none() {
            let item = queue.discard_too_long()?;
            self.settle(slot, index);
            Some(Commit::TooLong(item))
        } else {
            queue.frames.head_mut()?.needs = len;
            self.settle(slot, index);
            let head = self.queue_mut(slot).frames.head_mut()?;
            Some(Commit::Held(&mut head.item))
        }
    }

    /// The egress pipeline dropped the offered frame: no tokens are spent.
    pub fn discard(&mut self) -> Option<T> {
        let slot = self.offered.take()?.slot;
        let queue = self.queue_mut(slot);
        if queue.standing == Standing::Granted {
            return self.release_granted(slot, Queue::discard);
        }
        let index = queue.port;
        let item = queue.discard();
        self.settle(slot, index);
        item
    }

    /// The offered frame leaves, but not for the link, as egress recirculates
    /// it: no tokens are spent.
    pub fn withdraw(&mut self) -> Option<T> {
        let slot = self.offered.take()?.slot;
        let queue = self.queue_mut(slot);
        if queue.standing == Standing::Granted {
            return self.release_granted(slot, Queue::withdraw);
        }
        let index = queue.port;
        let item = queue.withdraw();
        self.settle(slot, index);
        item
    }

    /// After the head changed: the queue stays in the round if the next may go, too.
    fn settle(&mut self, slot: u32, index: u32) {
        let now = self.now;
        let queue = self.queue(slot);
        let head = queue.head();
        let next = head.map(|len| (len, queue.ready_at(len).unwrap_or(0)));
        match next {
            Some((_, at)) if at <= now => {
                if let Some(since) = queue.entitled_since() {
                    let port = &mut self.ports[index as usize];
                    port.entitled.set(&mut self.positions, slot, since);
                }
            }
            Some((len, at)) => {
                self.stand_down(slot);
                self.wait(slot, len, at);
            }
            None => {
                self.stand_down(slot);
                self.stand(slot);
            }
        }
        // The other ports' turn; this one, if it has nothing left, drops out.
        let more = !self.ports[index as usize].round.is_empty();
        if self.active.front() == Some(&index) {
            self.active.pop_front();
            if more {
                self.active.push_back(index);
            } else {
                self.ports[index as usize].active = false;
            }
        }
    }

    /// When [`Self::offer`] may have a frame, exact to the nanosecond; a time
    /// not after the last call's is "now". Where a port's rate is short of
    /// tokens, too, a flow's deadline may be followed by another, its port's.
    pub fn next_deadline(&mut self) -> Option<u64> {
        if self.offered.is_some() || self.select().is_some() {
            return Some(self.now);
        }
        self.next_timer()
    }

    /// A port's configuration, and of its own queue what overflowed and what is
    /// in it now.
    #[must_use]
    pub fn port_state(&self, port: u16) -> Option<(PortConfig, Traffic, Traffic)> {
        let port = &self.ports[self.port(port)? as usize];
        let own = self.queue(port.own);
        Some((port.config, own.overflowed(), own.depth()))
    }

    /// Bytes that a port has put on its line so far, with all that its framing adds and with what
    /// went before its frames ([`Self::occupy`]); `None` where there is no such port. A granted port
    /// has none: what it sends is a channel's.
    #[must_use]
    pub fn line_bytes(&self, port: u16) -> Option<u64> {
        Some(self.ports[self.port(port)? as usize].line_bytes)
    }

    /// Whether nothing is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let mut queues = self.queues.iter().flatten();
        queues.all(|queue| queue.frames.is_empty())
    }

    /// Every service flow, by port and queue_id.
    #[must_use]
    pub fn service_flows(&self, now: u64) -> Vec<ServiceFlowState> {
        let now = now.max(self.now);
        let mut flows: Vec<ServiceFlowState> = self
            .queues
            .iter()
            .flatten()
            .filter(|queue| queue.config.queue.queue_id != 0)
            .map(|queue| queue.state(now))
            .collect();
        flows.sort_by_key(|flow| flow.config.queue);
        flows
    }
}
