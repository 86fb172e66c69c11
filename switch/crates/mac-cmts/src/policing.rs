// SPDX-License-Identifier: Apache-2.0
//! Token buckets on grants (mac.md, "Policing"), in exact integers.

use mac_wire::FlowConfig;

use crate::parameters::Parameters;

/// A token is 1/8,000,000,000 byte: one bit/s earns one every nanosecond.
const TOKENS_PER_BYTE: u128 = 8_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    rate: u64,
    depth: u128,
    tokens: u128,
    updated: u64,
}

impl Bucket {
    fn new(now: u64, rate: u64, depth: u64, bytes: u64) -> Self {
        let depth = u128::from(depth) * TOKENS_PER_BYTE;
        Self {
            rate,
            depth,
            tokens: (u128::from(bytes) * TOKENS_PER_BYTE).min(depth),
            updated: now,
        }
    }

    fn earn(&mut self, now: u64) {
        let earned = u128::from(now.saturating_sub(self.updated)) * u128::from(self.rate);
        self.tokens = (self.tokens + earned).min(self.depth);
        self.updated = self.updated.max(now);
    }

    fn bytes(&self) -> u64 {
        u64::try_from(self.tokens / TOKENS_PER_BYTE).unwrap_or(u64::MAX)
    }

    fn spend(&mut self, bytes: u64) {
        self.tokens = self
            .tokens
            .saturating_sub(u128::from(bytes) * TOKENS_PER_BYTE);
    }

    fn give_back(&mut self, bytes: u64) {
        self.tokens = (self.tokens + u128::from(bytes) * TOKENS_PER_BYTE).min(self.depth);
    }

    fn resized(self, now: u64, rate: u64, depth: u64) -> Self {
        let mut old = self;
        old.earn(now);
        Self::new(now, rate, depth, old.bytes())
    }
}

/// What a service flow may be granted. For all t1 < t2, with R and P its rates with headers:
///
/// granted <= (t2 - t1) R / 8 + Maximum Traffic Burst + less than a minislot a grant
/// granted <= (t2 - t1) P / 8 + depth of the peak bucket + less than a minislot a grant
///
/// where headers, and what was granted and came back unused, are not counted in the first. A bucket is at least
/// as deep as the longest burst that has to be granted whole. Proactive grants are charged and
/// not limited, so for them the inequalities do not hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policing {
    sustained: Option<Bucket>,
    peak: Option<Bucket>,
}

/// A flow's rates with headers and depths of its buckets.
struct Shape {
    sustained: u64,
    burst: u64,
    peak: u64,
    peak_depth: u64,
}

impl Shape {
    fn of(flow: &FlowConfig, parameters: &Parameters, map_ns: u64, whole: u64) -> Self {
        let peak = parameters.with_headers(flow.peak_rate);
        let lasts = u128::from(parameters.peak_depth.max(map_ns));
        let peak_depth = u128::from(peak) * lasts / TOKENS_PER_BYTE;
        Self {
            sustained: parameters.with_headers(flow.max_sustained_rate),
            burst: flow.max_burst.max(whole),
            peak,
            peak_depth: u64::try_from(peak_depth).unwrap_or(u64::MAX).max(whole),
        }
    }
}

impl Policing {
    /// Full bucket of the Maximum Sustained Traffic Rate, empty bucket of the peak rate; a MAP
    /// lasts `map_ns`, and `whole` bytes must be able to pass at once.
    pub(crate) fn new(
        now: u64,
        flow: &FlowConfig,
        parameters: &Parameters,
        map_ns: u64,
        whole: u64,
    ) -> Self {
        let shape = Shape::of(flow, parameters, map_ns, whole);
        Self {
            sustained: (shape.sustained > 0)
                .then(|| Bucket::new(now, shape.sustained, shape.burst, shape.burst)),
            peak: (shape.peak > 0).then(|| Bucket::new(now, shape.peak, shape.peak_depth, 0)),
        }
    }

    /// The same with other rates; buckets keep what fits of their tokens.
    pub(crate) fn changed(
        self,
        now: u64,
        flow: &FlowConfig,
        parameters: &Parameters,
        map_ns: u64,
        whole: u64,
    ) -> Self {
        let shape = Shape::of(flow, parameters, map_ns, whole);
        let new = Self::new(now, flow, parameters, map_ns, whole);
        Self {
            sustained: match (self.sustained, new.sustained) {
                (Some(old), Some(_)) => Some(old.resized(now, shape.sustained, shape.burst)),
                (_, new) => new,
            },
            peak: match (self.peak, new.peak) {
                (Some(old), Some(_)) => Some(old.resized(now, shape.peak, shape.peak_depth)),
                (_, new) => new,
            },
        }
    }

    /// Bytes that may be granted at `now`.
    pub(crate) fn allowed(&mut self, now: u64) -> u64 {
        let mut allowed = u64::MAX;
        for bucket in [&mut self.sustained, &mut self.peak].into_iter().flatten() {
            bucket.earn(now);
            allowed = allowed.min(bucket.bytes());
        }
        allowed
    }

    /// A grant of `bytes`; what it has beyond the tokens is not owed.
    pub(crate) fn charge(&mut self, now: u64, bytes: u64) {
        for bucket in [&mut self.sustained, &mut self.peak].into_iter().flatten() {
            bucket.earn(now);
            bucket.spend(bytes);
        }
    }

    /// `bytes` of a grant stayed empty, or were headers. Nothing comes back to the peak bucket, as in
    /// docsis-ns3: it limits what is granted.
    pub(crate) fn give_back(&mut self, bytes: u64) {
        if let Some(bucket) = &mut self.sustained {
            bucket.give_back(bytes);
        }
    }
}
