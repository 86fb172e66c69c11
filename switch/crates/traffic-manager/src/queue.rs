// SPDX-License-Identifier: Apache-2.0
//! One queue: frames, buckets, counters.

mod acks;

use crate::acks::Suppressor;
use crate::allowance::Allowance;
use crate::bucket::{Bucket, Buckets, TOKENS_PER_BYTE};
use crate::config::{ServiceFlowConfig, ServiceFlowState};
use crate::frames::Frames;
use crate::limits::PEAK_BURST;
use crate::queue_id::QueueId;
use crate::reservation::{Reservation, Saved};
use crate::round_robin::Turn;
use crate::traffic::Traffic;

/// Nanoseconds below which nobody can tell frames apart: to hand one to an
/// interface takes longer. Frames for which tokens come faster are not sent
/// one by one.
pub(crate) const INSTANT: u64 = 2_000;

/// Why a queue is, or is not, in its port's round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// No frames.
    Empty,
    /// Short of tokens until then.
    Waiting(u64),
    /// Its head may go.
    Ready,
    /// Nowhere: grants let its frames go, and not its port.
    Granted,
}

#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// The configuration; of a port's own queue only `queue`, `queue_limit`
    /// and `traffic_priority` (0) have a meaning.
    pub(crate) config: ServiceFlowConfig,
    /// Index of its port.
    pub(crate) port: u32,
    pub(crate) frames: Frames<T>,
    pub(crate) standing: Standing,
    pub(crate) turn: Turn,
    /// Has been short of tokens, at a pace that matters, since it was last empty.
    pub(crate) waited: bool,
    pub(crate) buckets: Buckets,
    /// What it may ask for, where grants let its frames go. Behind a pointer: most queues have none.
    pub(crate) allowance: Option<Box<Allowance>>,
    /// Behind a pointer: most queues have none.
    suppressor: Option<Box<Suppressor>>,
    /// Behind a pointer: most queues have none.
    reservation: Option<Box<Reservation>>,
    limit: u64,
    enqueued: Traffic,
    dequeued: Traffic,
    overflow: Traffic,
    egress_dropped: Traffic,
    flushed: Traffic,
    suppressed: Traffic,
    queued: Traffic,
    reserved: Traffic,
    delayed: Traffic,
}

/// What `config` reserves; tokens of an earlier reservation stay.
fn reservation(
    old: Option<Box<Reservation>>,
    now: u64,
    config: &ServiceFlowConfig,
) -> Option<Box<Reservation>> {
    let (rate, assumed) = (config.min_reserved_rate, config.assumed_packet_size);
    if rate == 0 {
        return None;
    }
    Some(Box::new(match old {
        Some(old) => old.reconfigured(now, rate, assumed),
        None => Reservation::new(now, rate, assumed),
    }))
}

impl<T> Queue<T> {
    pub(crate) fn port_queue(now: u64, port: u16, index: u32, limit: u64) -> Self {
        let mut queue = Self::service_flow(
            now,
            ServiceFlowConfig {
                queue: QueueId { port, queue_id: 0 },
                ..Default::default()
            },
            index,
        );
        queue.limit = limit;
        queue
    }

    pub(crate) fn service_flow(now: u64, config: ServiceFlowConfig, port: u32) -> Self {
        let tokens = config.initial_tokens.unwrap_or(config.max_burst);
        Self {
            config,
            port,
            frames: Frames::new(config.sub_queues, config.round_robin),
            standing: Standing::Empty,
            turn: Turn::default(),
            waited: false,
            buckets: Buckets {
                sustained: Bucket::new(now, config.max_sustained_rate, config.max_burst, tokens),
                peak: Bucket::new(now, config.peak_rate, PEAK_BURST, PEAK_BURST),
            },
            allowance: None,
            suppressor: Suppressor::new(config.ack_suppression, 0).map(Box::new),
            reservation: reservation(None, now, &config),
            limit: config.effective_queue_limit(),
            enqueued: Traffic::default(),
            dequeued: Traffic::default(),
            overflow: Traffic::default(),
            egress_dropped: Traffic::default(),
            flushed: Traffic::default(),
            suppressed: Traffic::default(),
            queued: Traffic::default(),
            reserved: Traffic::default(),
            delayed: Traffic::default(),
        }
    }

    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Takes another configuration; frames, counters and (unless it says
    /// otherwise) tokens stay.
    pub(crate) fn reconfigure(&mut self, now: u64, config: ServiceFlowConfig) {
        let (rate, burst) = (config.max_sustained_rate, config.max_burst);
        let Buckets { sustained, peak } = &mut self.buckets;
        *sustained = match config.initial_tokens {
            Some(tokens) => Bucket::new(now, rate, burst, tokens),
            None => sustained.reconfigured(now, rate, burst),
        };
        *peak = peak.reconfigured(now, config.peak_rate, PEAK_BURST);
        self.reservation = reservation(self.reservation.take(), now, &config);
        self.limit = config.effective_queue_limit();
        let turns = |of: &ServiceFlowConfig| (of.sub_queues, of.round_robin);
        if turns(&config) != turns(&self.config) {
            self.frames
                .reconfigure(config.sub_queues, config.round_robin);
        }
        if config.ack_suppression != self.config.ack_suppression {
            let suppressor = Suppressor::new(config.ack_suppression, self.queued.frames);
            self.suppressor = suppressor.map(Box::new);
        }
        self.config = config;
    }

    /// Bytes that the head frame needs.
    #[inline]
    pub(crate) fn head(&self) -> Option<u32> {
        Some(self.frames.head()?.needs)
    }

    /// When `bytes` may go; `None` is never.
    #[inline]
    pub(crate) fn ready_at(&self, bytes: u32) -> Option<u64> {
        self.buckets.ready_at(bytes)
    }

    /// Since when, or from when on, its head is within its minimum reserved
    /// rate; `None` without one.
    pub(crate) fn entitled_since(&self) -> Option<u64> {
        let reservation = self.reservation.as_ref()?;
        Some(reservation.covers_since(self.head()?))
    }

    /// Until `at` nothing was queued, or the head was short of tokens.
    pub(crate) fn resume(&mut self, at: u64, saved: Saved) {
        if let Some(reservation) = &mut self.reservation {
            reservation.resume(at, saved);
        }
    }

    /// Whether tokens for a frame of `len` bytes, for which it waits at `now`,
    /// take longer to come than [`INSTANT`].
    pub(crate) fn is_paced(&self, now: u64, len: u32) -> bool {
        self.buckets.earn_slower_than(now, len, INSTANT)
    }

    pub(crate) fn depth(&self) -> Traffic {
        self.queued
    }

    pub(crate) fn overflowed(&self) -> Traffic {
        self.overflow
    }

    /// Counts a frame that is not to be queued.
    pub(crate) fn refuse(&mut self, len: usize) {
        self.overflow.count(len);
    }

    /// Accepts a frame, or counts it as overflow and hands it back.
    #[inline]
    pub(crate) fn push(&mut self, sub_queue: u32, len: u32, item: T) -> Result<(), T> {
        let fits = self.queued.bytes + u64::from(len) <= self.limit;
        let bytes = u64::from(len);
        if !fits || !self.buckets.may_hold(bytes) {
            self.overflow.count(len as usize);
            return Err(item);
        }
        self.enqueued.count(len as usize);
        self.queued.count(len as usize);
        self.frames.push(sub_queue, len, item);
        Ok(())
    }

    /// Takes the head out; its sub-queue is charged `sent` bytes.
    #[inline]
    fn pop(&mut self, sent: u32) -> Option<T> {
        if let Some(suppressor) = &mut self.suppressor {
            suppressor.popped();
        }
        self.frames.pop(sent)
    }

    /// Counts the head out of the queue: the length that it was queued with.
    #[inline]
    fn uncount_head(&mut self) -> Option<usize> {
        let len = self.frames.head()?.len as usize;
        self.queued.uncount(len);
        Some(len)
    }

    /// Spends the tokens for `len` bytes, if there are as many in both buckets.
    #[inline]
    pub(crate) fn spend(&mut self, now: u64, len: u32) -> bool {
        self.buckets.spend(now, len)
    }

    /// The head leaves, `len` bytes long, for which its tokens are spent: within the
    /// minimum reserved rate, or as the round's turn.
    #[inline]
    pub(crate) fn send(&mut self, now: u64, len: u32, entitled: bool) -> Option<T> {
        let queued = self.uncount_head()?;
        self.dequeued.count(queued);
        if self.waited {
            self.delayed.count(queued);
        }
        match &mut self.reservation {
            Some(reservation) if entitled => {
                reservation.spend(now, len);
                self.reserved.count(queued);
            }
            _ => self.turn.deficit -= i64::from(len),
        }
        self.pop(len)
    }

    /// The head leaves, but not for the link: it costs nothing.
    pub(crate) fn withdraw(&mut self) -> Option<T> {
        let len = self.uncount_head()?;
        self.dequeued.count(len);
        self.pop(0)
    }

    /// The egress pipeline dropped the head.
    pub(crate) fn discard(&mut self) -> Option<T> {
        let len = self.uncount_head()?;
        self.egress_dropped.count(len);
        self.pop(0)
    }

    /// The head can never go: longer than a bucket is deep.
    pub(crate) fn discard_too_long(&mut self) -> Option<T> {
        let len = self.uncount_head()?;
        self.overflow.count(len);
        self.pop(0)
    }

    /// Hands every frame back.
    pub(crate) fn flush(&mut self, sink: &mut dyn FnMut(T)) {
        while let Some(len) = self.uncount_head() {
            self.flushed.count(len);
            self.pop(0).map(&mut *sink);
        }
    }

    pub(crate) fn state(&self, now: u64) -> ServiceFlowState {
        // As in the pipeline: 1/8,000,000 byte.
        let report = |tokens: u128| (tokens / 1000) as u64;
        let Buckets { sustained, peak } = self.buckets_at(now);
        const { assert!(TOKENS_PER_BYTE == 8_000_000 * 1000) };
        ServiceFlowState {
            config: self.config,
            enqueued: self.enqueued,
            dequeued: self.dequeued,
            overflow: self.overflow,
            egress_dropped: self.egress_dropped,
            flushed: self.flushed,
            suppressed: self.suppressed,
            queued: self.queued,
            reserved: self.reserved,
            delayed: self.delayed,
            sustained_tokens: report(sustained.tokens(now)),
            peak_tokens: report(peak.tokens(now)),
        }
    }
}
