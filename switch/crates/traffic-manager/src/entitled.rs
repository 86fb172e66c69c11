// SPDX-License-Identifier: Apache-2.0
//! A port's ready queues that have a minimum reserved rate, ordered by the time at which that rate
//! covers their head frame. It is a binary heap that knows where every queue stands, so that each
//! queue has exactly one entry.

const NONE: u32 = u32::MAX;

/// Where a slot stands in its port's heap.
#[derive(Debug, Default)]
pub struct Positions(Vec<u32>);

impl Positions {
    /// Room for slots below `slots`.
    pub fn grow(&mut self, slots: usize) {
        self.0.resize(slots.max(self.0.len()), NONE);
    }
}

/// The heap: the earliest first, ties by slot.
#[derive(Debug, Default)]
pub struct Entitled {
    heap: Vec<(u64, u32)>,
}

impl Entitled {
    /// Room for `queues`, so that none is made on a packet's way.
    pub fn reserve(&mut self, queues: usize) {
        self.heap.reserve(queues.saturating_sub(self.heap.len()));
    }

    /// The queue that is, or will be, covered before all others, and when.
    #[inline]
    pub fn first(&self) -> Option<(u64, u32)> {
        self.heap.first().copied()
    }

    /// A queue is ready and covered since, or from, `at`.
    pub fn set(&mut self, positions: &mut Positions, slot: u32, at: u64) {
        let mut index = positions.0[slot as usize] as usize;
        if index == NONE as usize {
            index = self.heap.len();
            self.heap.push((at, slot));
        }
        self.heap[index] = (at, slot);
        self.settle(positions, index);
    }

    /// A queue is not ready any more.
    pub fn remove(&mut self, positions: &mut Positions, slot: u32) {
        let index = std::mem::replace(&mut positions.0[slot as usize], NONE) as usize;
        if index == NONE as usize {
            return;
        }
        self.heap.swap_remove(index);
        if index < self.heap.len() {
            self.settle(positions, index);
        }
    }

    /// Moves the entry at `index` to where it belongs.
    fn settle(&mut self, positions: &mut Positions, mut index: usize) {
        let heap = &mut self.heap;
        let entry = heap[index];
        while index > 0 && entry < heap[(index - 1) / 2] {
            heap[index] = heap[(index - 1) / 2];
            positions.0[heap[index].1 as usize] = index as u32;
            index = (index - 1) / 2;
        }
        loop {
            let left = 2 * index + 1;
            let Some(&(mut least)) = heap.get(left) else {
                break;
            };
            let mut child = left;
            if let Some(&right) = heap.get(left + 1).filter(|&&right| right < least) {
                (least, child) = (right, left + 1);
            }
            if entry <= least {
                break;
            }
            heap[index] = least;
            positions.0[least.1 as usize] = index as u32;
            index = child;
        }
        heap[index] = entry;
        positions.0[entry.1 as usize] = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

        /// As a map that is searched whole.
        #[test]
        fn the_earliest_is_first(
            steps in prop::collection::vec((0u32..40, prop::option::weighted(0.7, 0u64..50)), 1..400),
        ) {
            let (mut positions, mut heap) = (Positions::default(), Entitled::default());
            positions.grow(40);
            let mut reference = BTreeMap::new();
            for (slot, at) in steps {
                match at {
                    Some(at) => {
                        heap.set(&mut positions, slot, at);
                        reference.insert(slot, at);
                    }
                    None => {
                        heap.remove(&mut positions, slot);
                        reference.remove(&slot);
                    }
                }
                let first = reference.iter().map(|(&slot, &at)| (at, slot)).min();
                prop_assert_eq!(heap.first(), first);
                prop_assert_eq!(heap.heap.len(), reference.len());
            }
        }
    }
}
