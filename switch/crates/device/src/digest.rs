// SPDX-License-Identifier: Apache-2.0
//! Digests on their way to the controller: collected in lists, sent when a list
//! is full or old enough, and suppressed while the same is in the list, or was sent and not yet
//! acknowledged (P4Runtime 1.5, section 9.8).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
/// Digests of all kinds that are remembered, because they are in a list that is being filled or wait
/// for an acknowledgement, and the memory that they take at most, bytes: each is there twice.
const MOST_REMEMBERED: usize = 16_384;
const REMEMBERED_BYTES: usize = 8 << 20;
/// Digests that are forgotten in one step of the device, or a list at least.
const MOST_FORGOTTEN: usize = 256;
/// Lists that may wait for the next step of the device.
const MOST_READY: usize = 64;

/// A list that was sent and is not acknowledged.
#[derive(Debug)]
struct Sent {
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
    /// What is in the list, or was sent and is not acknowledged. It grows by one node at a time: a
    /// packet would have to wait while a hash table of thousands is moved.
    known: BTreeSet<Vec<u128>>,
    /// By number; empty without an acknowledgement timeout.
    sent: BTreeMap<u64, Sent>,
}

impl Learner {
    fn limit(&self) -> usize {
        let most = MOST_SAMPLES.min(LIST_BYTES / self.sample.max(1)).max(1);
        match self.config.max_list_size {
            0 => most,
            size => most.min(size as usize),
        }
    }

    /// The memory of what is known, bytes.
    fn known_bytes(&self) -> usize {
        self.known.len() * self.sample
    }

    /// When the list that is being filled is to be sent, at the latest.
    fn due(&self) -> Option<u64> {
        if self.samples.is_empty() {
            return None;
        }
        // A change may have made the limit smaller than the list.
        let is_full = self.samples.len() >= self.limit();
        let wait = if is_full {
            0
        } else {
            self.config.max_timeout_ns
        };
        Some(self.began.saturating_add(wait))
    }

    /// When the oldest list is to be forgotten.
    fn expiry(&self) -> Option<u64> {
        let (_, oldest) = self.sent.first_key_value()?;
        Some(oldest.at.saturating_add(self.config.ack_timeout_ns))
    }

    fn marks(&self) -> Marks {
        Marks {
            deadline: self.due().into_iter().chain(self.expiry()).min(),
            oldest: self.sent.keys().next().copied(),
        }
    }

    /// Forgets a list, and tells how many digests it had; `None` if there is no such list.
    fn forget(&mut self, list_id: u64) -> Option<usize> {
        let sent = self.sent.remove(&list_id)?;
        for sample in &sent.samples {
            self.known.remove(sample);
        }
        Some(sent.samples.len())
    }

    /// The list that is being filled, to be sent. `lists` is the number of the last one of any
    /// digest.
    fn close(&mut self, now: u64, digest: DigestId, lists: &mut u64) -> DigestList {
        let samples = std::mem::take(&mut self.samples);
        *lists += 1;
        if self.config.ack_timeout_ns > 0 {
            let samples = samples.clone();
            self.sent.insert(*lists, Sent { at: now, samples });
        } else {
            self.known.clear();
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

/// What the device needs of a digest to find, without a look at all of them, the one that is next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Marks {
    /// When there is something to do.
    deadline: Option<u64>,
    /// The number of the oldest list that is not acknowledged.
    oldest: Option<u64>,
}

/// A digest of the program, with the marks by which it is listed.
#[derive(Debug, Default)]
struct Kind {
    /// `None`: it is off.
    learner: Option<Learner>,
    marks: Marks,
}

/// All digests of a program.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    kinds: Vec<Kind>,
    /// The digests by their [`Marks::deadline`] and [`Marks::oldest`].
    deadlines: BTreeSet<(u64, u32)>,
    oldest: BTreeSet<(u64, u32)>,
    /// How many digests are known, and the memory that they take, bytes.
    remembered: usize,
    remembered_bytes: usize,
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
            kinds: (0..kinds).map(|_| Kind::default()).collect(),
            lists: before.lists,
            ..Self::default()
        }
    }

    /// Does something with a digest and keeps the books; `None` if it is off.
    fn with<T>(
        &mut self,
        digest: DigestId,
        work: impl FnOnce(&mut Learner, &mut u64) -> T,
    ) -> Option<T> {
        let kind = self.kinds.get_mut(digest.0 as usize)?;
        let learner = kind.learner.as_mut()?;
        let before = (learner.known.len(), learner.known_bytes());
        let done = work(learner, &mut self.lists);
        self.remembered = self.remembered - before.0 + learner.known.len();
        self.remembered_bytes = self.remembered_bytes - before.1 + learner.known_bytes();
        let marks = learner.marks();
        self.mark(digest, marks);
        Some(done)
    }

    /// Lists a digest by its new marks.
    fn mark(&mut self, digest: DigestId, marks: Marks) {
        let Some(kind) = self.kinds.get_mut(digest.0 as usize) else {
            return;
        };
        let before = std::mem::replace(&mut kind.marks, marks);
        let relist = |list: &mut BTreeSet<(u64, u32)>, before: Option<u64>, now: Option<u64>| {
            if before != now {
                before.map(|before| list.remove(&(before, digest.0)));
                now.map(|now| list.insert((now, digest.0)));
            }
        };
        relist(&mut self.deadlines, before.deadline, marks.deadline);
        relist(&mut self.oldest, before.oldest, marks.oldest);
        self.schedule();
    }

    /// See [`crate::Device::configure_digest`].
    pub fn configure(&mut self, digest: DigestId, config: Option<DigestConfig>) -> Forgotten {
        let mut forgotten = Forgotten::default();
        let Some(kind) = self.kinds.get_mut(digest.0 as usize) else {
            return forgotten;
        };
        if let Some(config) = config {
            kind.learner.get_or_insert_default();
            self.with(digest, |learner, _| {
                learner.config = config;
                if config.ack_timeout_ns == 0 {
                    let listed = learner.samples.iter().cloned().collect();
                    forgotten._learner.sent = std::mem::take(&mut learner.sent);
                    forgotten._learner.known = std::mem::replace(&mut learner.known, listed);
                }
            });
        } else {
            let learner = kind.learner.take().unwrap_or_default();
            self.remembered -= learner.known.len();
            self.remembered_bytes -= learner.known_bytes();
            forgotten._learner = learner;
            let ready = std::mem::take(&mut self.ready).into_iter();
            (forgotten._lists, self.ready) = ready.partition(|list| list.digest == digest);
            self.mark(digest, Marks::default());
        }
        forgotten
    }

    /// See [`crate::Device::digest_config`].
    pub fn config(&self, digest: DigestId) -> Option<DigestConfig> {
        let kind = self.kinds.get(digest.0 as usize)?;
        Some(kind.learner.as_ref()?.config)
    }

    /// See [`crate::Device::ack_digest`].
    pub fn ack(&mut self, digest: DigestId, list_id: u64) -> bool {
        let forgotten = self.with(digest, |learner, _| learner.forget(list_id));
        forgotten.flatten().is_some()
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
        let kind = self.kinds.get_mut(digest.0 as usize);
        let Some(learner) = kind.and_then(|kind| kind.learner.as_mut()) else {
            return false;
        };
        pipeline.digest_fields(packet, digest, &mut self.values);
        learner.sample = sample_bytes(self.values.len());
        if learner.known.contains(self.values.as_slice()) {
            return false;
        }
        let bytes = learner.sample;
        if self.ready.len() >= MOST_READY || !self.make_room(bytes) {
            return true;
        }
        let values = std::mem::take(&mut self.values);
        let full = self.with(digest, |learner, lists| {
            let config = learner.config;
            let is_last = learner.samples.len() + 1 >= learner.limit();
            let closes = is_last || config.max_timeout_ns == 0;
            // What is sent at once and never acknowledged is not looked for.
            if !closes || config.ack_timeout_ns > 0 {
                learner.known.insert(values.clone());
            }
            if learner.samples.is_empty() {
                learner.began = now;
            }
            learner.samples.push(values.clone());
            closes.then(|| learner.close(now, digest, lists))
        });
        self.values = values;
        self.ready.extend(full.flatten());
        self.schedule();
        false
    }

    /// Forgets the oldest lists of any digest until one more digest of so many bytes may be
    /// remembered. False: all that is remembered waits to be sent.
    fn make_room(&mut self, bytes: usize) -> bool {
        while self.remembered >= MOST_REMEMBERED || self.remembered_bytes + bytes > REMEMBERED_BYTES
        {
            let Some(&(list_id, digest)) = self.oldest.first() else {
                return false;
            };
            self.ack(DigestId(digest), list_id);
        }
        true
    }

    /// The next list to be sent, if one is full or old enough. Forgets lists
    /// that nobody has acknowledged in time.
    pub fn pop(&mut self, now: u64) -> Option<DigestList> {
        let mut left = MOST_FORGOTTEN;
        while left > 0
            && self.ready.is_empty()
            && let Some(&(deadline, digest)) = self.deadlines.first()
            && deadline <= now
        {
            let digest = DigestId(digest);
            let due = self.with(digest, |learner, lists| {
                while left > 0
                    && learner.expiry().is_some_and(|expiry| expiry <= now)
                    && let Some((&oldest, _)) = learner.sent.first_key_value()
                {
                    left = left.saturating_sub(learner.forget(oldest).unwrap_or_default());
                }
                let is_due = learner.due().is_some_and(|due| due <= now);
                is_due.then(|| learner.close(now, digest, lists))
            });
            self.ready.extend(due.flatten());
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
        self.next = if self.ready.is_empty() {
            self.deadlines.first().map(|(deadline, _)| *deadline)
        } else {
            Some(0)
        };
    }
}
