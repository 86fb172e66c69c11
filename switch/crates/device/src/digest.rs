// SPDX-License-Identifier: Apache-2.0
//! Digests on their way to the controller: collected in lists, sent when a list
//! is full or old enough, and suppressed while the same was sent and not yet
//! acknowledged (P4Runtime 1.5, section 9.8).

use std::collections::{HashSet, VecDeque};
use v1model::{DigestId, Packet, Pipeline};

/// When the lists of a digest are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DigestConfig {
    /// Longest time that a digest waits in its list, nanoseconds; 0: it does not.
    pub max_timeout_ns: u64,
    /// Digests in a list; 0: no limit but the device's.
    pub max_list_size: u32,
    /// For how long a digest that was sent suppresses others like it when it is
    /// not acknowledged, nanoseconds; 0: not at all.
    pub ack_timeout_ns: u64,
}

/// Digests that go to the controller together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestList {
    /// Which digest of the program.
    pub digest: DigestId,
    /// Number of the list. No other list of the device has it, whatever programs it runs.
    pub list_id: u64,
    /// When the list was sent, nanoseconds of the device's clock.
    pub timestamp_ns: u64,
    /// The digests' fields, in P4 order.
    pub samples: Vec<Vec<u128>>,
}

impl DigestList {
    /// The memory that its digests take, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.samples
            .iter()
            .map(|sample| sample_bytes(sample.len()))
            .sum()
    }
}

/// The memory of a digest of so many fields, bytes.
fn sample_bytes(fields: usize) -> usize {
    size_of::<Vec<u128>>() + ALLOCATION + fields * size_of::<u128>()
}

/// Bytes that an allocator takes beside what it gives.
const ALLOCATION: usize = 16;

/// Digests in a list whose configuration sets no limit, or a higher one, and the memory that
/// they take at most, bytes.
const MOST_SAMPLES: usize = 1024;
const LIST_BYTES: usize = 256 << 10;
/// Digests of one kind that are remembered until they are acknowledged, and the memory that they
/// take at most, bytes: each is there twice.
const MOST_REMEMBERED: usize = 16_384;
const REMEMBERED_BYTES: usize = 8 << 20;
/// Digests that are forgotten in one step of the device, or a list at least.
const MOST_FORGOTTEN: usize = 256;
/// Lists that may wait for the next step of the device.
const MOST_READY: usize = 64;

/// A list that was sent and is not acknowledged.
#[derive(Debug)]
struct Sent {
    list_id: u64,
    at: u64,
    samples: Vec<Vec<u128>>,
}

/// One kind of digest.
#[derive(Debug, Default)]
struct Learner {
    config: DigestConfig,
    /// Bytes of one digest.
    sample: usize,
    /// The list that is being filled, and since when.
    samples: Vec<Vec<u128>>,
    began: u64,
    /// What is in the list or was sent and is not acknowledged; empty without
    /// an acknowledgement timeout.
    known: HashSet<Vec<u128>>,
    sent: VecDeque<Sent>,
}

impl Learner {
    fn limit(&self) -> usize {
        let most = MOST_SAMPLES.min(LIST_BYTES / self.sample.max(1)).max(1);
        match self.config.max_list_size {
            0 => most,
            size => most.min(size as usize),
        }
    }

    /// Digests that may be remembered.
    fn room(&self) -> usize {
        MOST_REMEMBERED.min(REMEMBERED_BYTES / self.sample.max(1))
    }

    fn deadline(&self) -> Option<u64> {
        let list = (!self.samples.is_empty())
            .then(|| self.began.saturating_add(self.config.max_timeout_ns));
        let ack = self
            .sent
            .front()
            .map(|sent| sent.at.saturating_add(self.config.ack_timeout_ns));
        list.into_iter().chain(ack).min()
    }

    /// Forgets the oldest list.
    fn forget(&mut self) {
        if let Some(sent) = self.sent.pop_front() {
            for sample in &sent.samples {
                self.known.remove(sample);
            }
        }
    }

    /// The list that is being filled, to be sent. `lists` is the number of the last one of any
    /// digest.
    fn close(&mut self, now: u64, digest: DigestId, lists: &mut u64) -> DigestList {
        let samples = std::mem::take(&mut self.samples);
        *lists += 1;
        if self.config.ack_timeout_ns > 0 {
            self.sent.push_back(Sent {
                list_id: *lists,
                at: now,
                samples: samples.clone(),
            });
        }
        DigestList {
            digest,
            list_id: *lists,
            timestamp_ns: now,
            samples,
        }
    }
}

/// What a digest remembered before it was switched off or changed. To drop it
/// takes long when it is large: not between packets.
#[derive(Debug, Default)]
pub struct Forgotten {
    _learner: Learner,
    _lists: VecDeque<DigestList>,
}

/// All digests of a program.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    learners: Vec<Option<Learner>>,
    ready: VecDeque<DigestList>,
    /// The number of the last list, of this program or an earlier one of the device. So an
    /// acknowledgement that comes late is for none of this program's lists.
    lists: u64,
    /// When [`Digests::pop`] has something to do.
    next: Option<u64>,
    /// The fields of the digest in hand.
    values: Vec<u128>,
}

impl Digests {
    /// `kinds` of digests, all off, of a program that runs after another one.
    pub fn after(before: &Self, kinds: usize) -> Self {
        Self {
            learners: (0..kinds).map(|_| None).collect(),
            lists: before.lists,
            ..Self::default()
        }
    }

    fn learner(&mut self, digest: DigestId) -> Option<&mut Learner> {
        self.learners.get_mut(digest.0 as usize)?.as_mut()
    }

    /// See [`crate::Device::configure_digest`].
    pub fn configure(&mut self, digest: DigestId, config: Option<DigestConfig>) -> Forgotten {
        let mut forgotten = Forgotten::default();
        let Some(place) = self.learners.get_mut(digest.0 as usize) else {
            return forgotten;
        };
        if let Some(config) = config {
            let learner = place.get_or_insert_default();
            learner.config = config;
            if config.ack_timeout_ns == 0 {
                forgotten._learner.sent = std::mem::take(&mut learner.sent);
                forgotten._learner.known = std::mem::take(&mut learner.known);
            } else {
                // All that it may ever hold: packets do not wait while it grows.
                let room = MOST_REMEMBERED + MOST_SAMPLES;
                learner
                    .known
                    .reserve(room.saturating_sub(learner.known.len()));
            }
        } else {
            forgotten._learner = place.take().unwrap_or_default();
            let ready = std::mem::take(&mut self.ready).into_iter();
            (forgotten._lists, self.ready) = ready.partition(|list| list.digest == digest);
        }
        self.schedule();
        forgotten
    }

    /// See [`crate::Device::digest_config`].
    pub fn config(&self, digest: DigestId) -> Option<DigestConfig> {
        let learner = self.learners.get(digest.0 as usize)?.as_ref()?;
        Some(learner.config)
    }

    /// See [`crate::Device::ack_digest`].
    pub fn ack(&mut self, digest: DigestId, list_id: u64) -> bool {
        let Some(learner) = self.learner(digest) else {
            return false;
        };
        let Some(at) = learner.sent.iter().position(|s| s.list_id == list_id) else {
            return false;
        };
        if let Some(sent) = learner.sent.remove(at) {
            for sample in &sent.samples {
                learner.known.remove(sample);
            }
        }
        self.schedule();
        true
    }

    /// A packet's digest. True: it was lost, because too much waits to be sent.
    /// Nothing is allocated for one that is off or known.
    pub fn learn(
        &mut self,
        now: u64,
        pipeline: &Pipeline,
        packet: &Packet,
        digest: DigestId,
    ) -> bool {
        let place = self.learners.get_mut(digest.0 as usize);
        let Some(learner) = place.and_then(Option::as_mut) else {
            return false;
        };
        pipeline.digest_fields(packet, digest, &mut self.values);
        learner.sample = sample_bytes(self.values.len());
        let remember = learner.config.ack_timeout_ns > 0;
        if remember {
            if learner.known.contains(self.values.as_slice()) {
                return false;
            }
            while learner.known.len() >= learner.room() && !learner.sent.is_empty() {
                learner.forget();
            }
        }
        if self.ready.len() >= MOST_READY {
            return true;
        }
        if remember {
            learner.known.insert(self.values.clone());
        }
        if learner.samples.is_empty() {
            learner.began = now;
        }
        learner.samples.push(self.values.clone());
        if learner.samples.len() >= learner.limit() || learner.config.max_timeout_ns == 0 {
            let list = learner.close(now, digest, &mut self.lists);
            self.ready.push_back(list);
        }
        self.schedule();
        false
    }

    /// The next list to be sent, if one is full or old enough. Forgets lists
    /// that nobody has acknowledged in time.
    pub fn pop(&mut self, now: u64) -> Option<DigestList> {
        for (id, learner) in self.learners.iter_mut().enumerate() {
            let Some(learner) = learner else { continue };
            let timeout = learner.config.ack_timeout_ns;
            let mut left = MOST_FORGOTTEN;
            while left > 0
                && let Some(sent) = learner.sent.front()
                && sent.at.saturating_add(timeout) <= now
            {
                left = left.saturating_sub(sent.samples.len());
                learner.forget();
            }
            let due = learner.began.saturating_add(learner.config.max_timeout_ns);
            let full = learner.samples.len() >= learner.limit();
            if !learner.samples.is_empty() && (full || due <= now) {
                let list = learner.close(now, DigestId(id as u32), &mut self.lists);
                self.ready.push_back(list);
            }
        }
        let list = self.ready.pop_front();
        self.schedule();
        list
    }

    /// When [`Self::pop`] has something to do.
    pub fn next_deadline(&self) -> Option<u64> {
        self.next
    }

    fn schedule(&mut self) {
        let deadlines = self.learners.iter().flatten().filter_map(Learner::deadline);
        self.next = if self.ready.is_empty() {
            deadlines.min()
        } else {
            Some(0)
        };
    }
}
