// SPDX-License-Identifier: Apache-2.0
//! What MAPs granted to queues.

use super::{Slot, TrafficManager};
use crate::granted::Granted;

impl<T> TrafficManager<T> {
    /// A MAP granted a queue `granted` MAC bytes, and leaves requests for `waiting` more that are
    /// acknowledged and not granted. Of a queue that is not granted nothing is noted.
    pub fn read_map(&mut self, slot: Slot, granted: u64, waiting: u64) {
        if let Some(allowance) = &mut self.queue_mut(slot.0).allowance {
            allowance.granted.read(granted, waiting);
        }
    }

    /// What MAPs gave a queue so far; nothing where it is not granted.
    #[must_use]
    pub fn granted(&self, slot: Slot) -> Granted {
        let allowance = self.queue(slot.0).allowance.as_deref();
        allowance.map_or(Granted::default(), |allowance| allowance.granted)
    }
}
