// SPDX-License-Identifier: Apache-2.0
//! Configuring ports and queues while frames wait in them.

use super::grants::refuse_granted;
use super::{NONE, Slot, TrafficManager};
use crate::config::{Configuration, PortConfig, ServiceFlowConfig};
use crate::error::ConfigError;
use crate::queue::{Queue, Standing};
use crate::queue_id::QueueId;
use std::collections::BTreeSet;

impl<T> TrafficManager<T> {
    /// Checks a request without applying it.
    ///
    /// # Errors
    /// The first value out of range, port that is not there, or queue named
    /// twice; or queues of the other model.
    pub fn check(&self, request: &Configuration) -> Result<(), ConfigError> {
        if !request.packet_queues.is_empty() {
            return Err(ConfigError::other_model(
                "packet_queues",
                "queues in packets",
            ));
        }
        // A port that loops back is made where it is not there.
        let loops = request.ports.iter().filter(|port| port.loop_back);
        let loops: BTreeSet<u16> = loops.map(|config| config.port).collect();
        let known = |port: u16| match self.port(port) {
            None if !loops.contains(&port) => {
                Err(ConfigError::invalid(format!("port {port}"), "no such port"))
            }
            _ => Ok(()),
        };
        let mut ports = BTreeSet::new();
        for config in &request.ports {
            config.check()?;
            known(config.port)?;
            if self.is_granted(config.port) {
                refuse_granted(config)?;
            }
            if !ports.insert(config.port) {
                let place = format!("port {}", config.port);
                return Err(ConfigError::invalid(place, "named twice"));
            }
        }
        let mut queues = BTreeSet::new();
        for config in &request.service_flows {
            config.check()?;
            known(config.queue.port)?;
            if !queues.insert(config.queue) {
                return Err(ConfigError::invalid(config.queue, "named twice"));
            }
        }
        for queue in &request.removed {
            if queue.queue_id == 0 || self.lookup(*queue).is_none() {
                return Err(ConfigError::invalid(queue, "removed: no such service flow"));
            }
            if !queues.insert(*queue) {
                return Err(ConfigError::invalid(queue, "named twice"));
            }
        }
        Ok(())
    }

    /// Applies a whole request, or nothing of it. Frames of removed queues go to `sink`.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn configure(
        &mut self,
        now: u64,
        request: &Configuration,
        sink: &mut dyn FnMut(T),
    ) -> Result<(), ConfigError> {
        self.check(request)?;
        self.advance(now);
        self.offered = None;
        for config in &request.ports {
            if config.loop_back {
                self.add_port(config.port);
            }
            self.configure_port(*config);
        }
        for config in &request.service_flows {
            self.configure_flow(*config);
        }
        for queue in &request.removed {
            self.remove(*queue, sink);
        }
        Ok(())
    }

    fn configure_port(&mut self, config: PortConfig) {
        let Some(index) = self.port(config.port) else {
            return;
        };
        let now = self.now;
        let port = &mut self.ports[index as usize];
        port.config = config;
        port.bucket = port
            .bucket
            .reconfigured(now, config.rate, config.effective_burst());
        let own = port.own;
        let limit = match port.primary {
            None => config.effective_queue_limit(),
            Some(_) => 0,
        };
        self.queue_mut(own).set_limit(limit);
        self.activate(index);
    }

    /// A message of the link's own, of `bytes`, goes before a port's frames: they wait as long as
    /// it takes at the port's rate. Without a rate, or without such a port, nothing happens.
    pub fn occupy(&mut self, now: u64, port: u16, bytes: u64) {
        self.advance(now);
        let Some(index) = self.port(port) else {
            return;
        };
        let now = self.now;
        let port = &mut self.ports[index as usize];
        let line_bytes = port.config.framing.line_bytes(bytes);
        port.carry(now, line_bytes);
        self.activate(index);
    }

    fn configure_flow(&mut self, config: ServiceFlowConfig) {
        let now = self.now;
        if let Some(index) = self.port(config.queue.port)
            && config.min_reserved_rate > 0
        {
            let most = self.queues.len() + 1;
            self.ports[index as usize].entitled.reserve(most);
        }
        if let Some(Slot(slot)) = self.lookup(config.queue) {
            let queue = self.queue_mut(slot);
            if queue.standing == Standing::Granted {
                queue.allow(now);
                queue.reconfigure(now, config);
                queue.rearranged(now);
                if !queue.frames.is_empty() {
                    self.notice(slot);
                }
                return;
            }
            self.stand_down(slot);
            self.queue_mut(slot).reconfigure(now, config);
            self.stand(slot);
            // Which may have waited for its head.
            self.activate(self.queue(slot).port);
            return;
        }
        let Some(index) = self.port(config.queue.port) else {
            return;
        };
        let mut queue = Queue::service_flow(now, config, index);
        if self.ports[index as usize].primary.is_some() {
            queue.wait_for_grants(now);
        }
        let slot = self.allocate(queue);
        let slots = &mut self.ports[index as usize].slots;
        let id = config.queue.queue_id as usize;
        if slots.len() <= id {
            slots.resize(id + 1, NONE);
        }
        slots[id] = slot;
        self.find_primary(index);
    }

    fn remove(&mut self, id: QueueId, sink: &mut dyn FnMut(T)) {
        let Some(Slot(slot)) = self.lookup(id) else {
            return;
        };
        self.stand_down(slot);
        let index = self.queue(slot).port;
        self.activate(index);
        self.ports[index as usize].slots[id.queue_id as usize] = NONE;
        self.find_primary(index);
        self.notices.retain(|&noticed| noticed != slot);
        if let Some(mut queue) = self.queues[slot as usize].take() {
            queue.flush(sink);
        }
        self.free.push(slot);
    }

    /// Hands every queued frame back, counted as flushed; queues and tokens stay.
    pub fn flush(&mut self, now: u64, sink: &mut dyn FnMut(T)) {
        self.advance(now);
        let now = self.now;
        self.offered = None;
        for slot in 0..self.queues.len() as u32 {
            if self.queues[slot as usize].is_some() {
                self.stand_down(slot);
                let queue = self.queue_mut(slot);
                queue.flush(sink);
                if queue.standing == Standing::Granted {
                    queue.rearranged(now);
                }
                queue.turn = Default::default();
                queue.waited = false;
            }
        }
    }
}
