// SPDX-License-Identifier: Apache-2.0
//! Ports that send a frame when a grant says so, and not when it is the frame's turn: the upstream port
//! of a cable modem in front of a request/grant MAC.
//!
//! Such a port has queues, sub-queues and limits like any other. A service flow's two buckets shape
//! what it may ask for ([`crate::allowance`]). Its priority and its minimum reserved rate are left to
//! the CMTS, which sees the flows of all modems.
//!
//! A modem has no queue beside its service flows. A frame that the pipeline puts into queue 0 goes to
//! the primary service flow; it is refused while there is none.

use super::{Chosen, Commit, Offer, Slot, TrafficManager};
use crate::allowance::{Allowance, Backlog, Notice};
use crate::error::ConfigError;
use crate::queue::{Queue, Standing};

impl<T> TrafficManager<T> {
    /// From now on, grants let go the frames of this port's service flows. What goes to queue 0
    /// goes to the service flow of queue `primary`, and is refused while there is none.
    ///
    /// # Errors
    /// There is no such port, it has frames, or a rate or a transmit delay, which are its
    /// channel's; or `primary` is 0, the port's own queue.
    pub fn set_granted(&mut self, now: u64, port: u16, primary: u32) -> Result<(), ConfigError> {
        let index = self.grantable(port, primary)?;
        let own = self.ports[index as usize].own;
        self.advance(now);
        self.offered = None;
        self.ports[index as usize].primary = Some(primary);
        for slot in 0..self.queues.len() as u32 {
            if let Some(queue) = &mut self.queues[slot as usize]
                && queue.port == index
            {
                queue.wait_for_grants(self.now);
            }
        }
        self.queue_mut(own).set_limit(0);
        self.find_primary(index);
        Ok(())
    }

    /// Whether [`Self::set_granted`] would refuse.
    ///
    /// # Errors
    /// Those of [`Self::set_granted`].
    pub fn may_grant(&self, port: u16, primary: u32) -> Result<(), ConfigError> {
        self.grantable(port, primary).map(|_| ())
    }

    /// The index of a port that grants may take over.
    fn grantable(&self, port: u16, primary: u32) -> Result<u32, ConfigError> {
        let place = format!("port {port}");
        let Some(index) = self.port(port) else {
            return Err(ConfigError::invalid(place, "no such port"));
        };
        if primary == 0 {
            return Err(ConfigError::invalid(
                place,
                "queue_id 0 cannot be the primary service flow's: it is what goes there",
            ));
        }
        let mut queues = self.queues.iter().flatten();
        if queues.any(|queue| queue.port == index && !queue.frames.is_empty()) {
            return Err(ConfigError::invalid(
                place,
                "it has frames: grants can only take over an empty port",
            ));
        }
        refuse_granted(&self.ports[index as usize].config)?;
        Ok(index)
    }

    /// Whether grants let go the frames of this port's service flows.
    #[must_use]
    pub fn is_granted(&self, port: u16) -> bool {
        let index = self.port(port);
        index.is_some_and(|index| self.ports[index as usize].primary.is_some())
    }

    /// What goes to queue 0 of a granted port goes to the primary service flow from now on, or,
    /// without one, to the port's own queue, which takes nothing.
    pub(super) fn find_primary(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        if let Some(primary) = port.primary {
            let slot = port.slots.get(primary as usize).copied();
            port.slots[0] = slot.filter(|&slot| slot != super::NONE).unwrap_or(port.own);
        }
    }

    /// A frame comes to a queue that grants empty.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue_granted(
        &mut self,
        slot: u32,
        sub_queue: u32,
        len: u32,
        item: T,
    ) -> Result<(), T> {
        let now = self.now;
        let queue = self.queue_mut(slot);
        queue.allow(now);
        let was_empty = queue.frames.is_empty();
        queue.push(sub_queue, len, item)?;
        if was_empty {
            self.notice(slot);
        }
        Ok(())
    }

    /// Somebody is to be told of the queue, once.
    pub(super) fn notice(&mut self, slot: u32) {
        let queue = self.queues[slot as usize].as_mut();
        if let Some(allowance) = queue.and_then(|queue| queue.allowance.as_mut())
            && !allowance.noticed
        {
            allowance.noticed = true;
            self.notices.push_back(slot);
        }
    }

    /// The next granted queue that had no frames, or another configuration, when somebody last
    /// looked, and has frames now: in the order in which that happened.
    pub fn next_notice(&mut self) -> Option<Notice> {
        let now = self.now;
        while let Some(slot) = self.notices.pop_front() {
            let Some(queue) = &mut self.queues[slot as usize] else {
                continue;
            };
            queue.allow(now);
            let Some(allowance) = &mut queue.allowance else {
                continue;
            };
            allowance.noticed = false;
            let backlog = queue.backlog(now);
            let at = match backlog.eligible.frames {
                0 => backlog.more_at,
                _ => Some(now),
            };
            if let Some(at) = at {
                let queue = queue.config.queue;
                return Some(Notice { queue, at });
            }
        }
        None
    }

    /// What may be asked for of a granted queue's frames; of another queue nothing is.
    #[must_use]
    pub fn backlog(&self, now: u64, slot: Slot) -> Backlog {
        self.queue(slot.0).backlog(now.max(self.now))
    }

    /// Bytes of the frame at a place of a queue, from the head on. `None` where the queue ends;
    /// and behind the head where sub-queues take turns, as then nobody knows.
    #[must_use]
    pub fn length_at(&self, slot: Slot, place: usize) -> Option<u32> {
        self.queue(slot.0).length_at(place)
    }

    /// Offers the head of a granted queue, which a grant lets go now, as [`Self::offer`] does those
    /// of other queues. `None` when the queue is empty, or its head is longer than `at_most` bytes
    /// or may not have been asked for.
    pub fn grant(&mut self, now: u64, slot: Slot, at_most: u32) -> Option<Offer> {
        self.advance(now);
        let now = self.now;
        let queue = self.queue_mut(slot.0);
        queue.allow(now);
        let fits = queue.head().is_some_and(|needs| needs <= at_most);
        if queue.standing != Standing::Granted || !fits || !queue.head_is_allowed() {
            return None;
        }
        let offer = queue.offer();
        self.offered = Some(Chosen {
            slot: slot.0,
            entitled: false,
        });
        Some(offer)
    }

    /// [`Self::commit`] of a frame that a grant let go.
    #[cold]
    #[inline(never)]
    pub(super) fn commit_granted(&mut self, slot: u32, len: u32) -> Option<Commit<'_, T>> {
        let now = self.now;
        let queue = self.queue_mut(slot);
        if queue.draw(now, len) {
            let sent = queue.take_head(now, |queue| queue.send(now, len, false))?;
            Some(Commit::Sent(sent))
        } else if queue.ready_at(len).is_none() {
            let dropped = queue.take_head(now, Queue::discard_too_long)?;
            Some(Commit::TooLong(dropped))
        } else {
            queue.hold_head(now, len).map(Commit::Held)
        }
    }

    /// [`Self::discard`] or [`Self::withdraw`] of a frame that a grant let go: it costs nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn release_granted(
        &mut self,
        slot: u32,
        pop: impl FnOnce(&mut Queue<T>) -> Option<T>,
    ) -> Option<T> {
        let now = self.now;
        self.queue_mut(slot).take_head(now, pop)
    }
}

impl<T> Queue<T> {
    /// Grants let its frames go from now on; it has none.
    pub(super) fn wait_for_grants(&mut self, now: u64) {
        self.standing = Standing::Granted;
        self.turn = Default::default();
        self.waited = false;
        self.allowance = Some(Box::new(Allowance::new(now)));
    }

    /// The head, on offer.
    pub(super) fn offer(&self) -> Offer {
        let mut left = self.depth();
        left.uncount(self.frames.head().map_or(0, |head| head.len as usize));
        Offer {
            queue: self.config.queue,
            shaped: self.config.queue.queue_id != 0,
            paced: self.waited,
            left,
        }
    }
}

/// What a port cannot have while grants let its frames go.
pub(super) fn refuse_granted(config: &crate::config::PortConfig) -> Result<(), ConfigError> {
    let refused = [
        ("rate", config.rate),
        ("transmit_delay_ns", config.transmit_delay_ns),
        ("transmit_jitter_ns", config.transmit_jitter_ns),
        ("transmit_loss_ppm", u64::from(config.transmit_loss_ppm)),
        ("framing.packet", u64::from(config.framing.packet)),
        ("loop_back", u64::from(config.loop_back)),
    ];
    for (field, value) in refused {
        if value != 0 {
            return Err(ConfigError::invalid(
                format!("port {}", config.port),
                format!(
                    "{field} is {value}, but an upstream channel carries the port's frames: set it there"
                ),
            ));
        }
    }
    Ok(())
}
