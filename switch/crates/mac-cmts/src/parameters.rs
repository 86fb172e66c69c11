// SPDX-License-Identifier: Apache-2.0
//! The scheduler's own constants, which no standard fixes, with mac.md's defaults.

/// The scheduler's own constants. [`Parameters::default`] has the values of mac.md
/// where they give one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Rates are policed at `rate * (headroom_base + headroom) / headroom_base`, because they do
    /// not count MAC headers and grants do (docsis-ns3: 10 of 200 bytes). What bursts have of headers
    /// comes back to the bucket of the Maximum Sustained Traffic Rate, so that shorter frames reach it
    /// too. There the headroom is room for what grants round up.
    pub headroom: u32,
    /// See `headroom`.
    pub headroom_base: u32,
    /// Depth of the Peak Traffic Rate's bucket in nanoseconds of that rate. A MAP that lasts
    /// longer deepens it to the MAP's length, or the peak rate could never be reached.
    pub peak_depth: u64,
    /// A UGS-AD flow that leaves so many grants in a row empty is polled instead.
    pub empty_grants: u16,
    /// A UGS flow whose Queue Indicator is set gets so many grants more, percent.
    pub queue_indicator_percent: u16,
    /// A proactive grant is `GGR * GGI / 8` bytes and this many percent more (docsis-ns3).
    pub proactive_percent: u32,
    /// A proactive grant may come this much later than its interval starts, eighths of the
    /// interval. It comes at the start unless another grant is due there too.
    pub proactive_jitter_eighths: u64,
    /// Bytes that a best-effort flow gets in its turn, at least (round robin by bytes).
    pub quantum: u64,
    /// Bytes beside headers that a part of a request carries at least: smaller grants would go
    /// to headers.
    pub least_part: u64,
    /// Bytes that a flow may have asked for and not been granted. More is not remembered.
    pub most_outstanding: u64,
    /// A priority that was not served for so long, while a higher one was, gets one turn,
    /// nanoseconds: priority orders flows and starves none.
    pub patience: u64,
    /// Such turns are this many MAPs apart.
    pub rescue_maps: u64,
    /// A request that must be granted whole and fits between the unsolicited grants of none of so
    /// many MAPs is dropped.
    pub unfit_maps: u16,
    /// Share of the channel that unsolicited grants, polls and reserved rates may take, percent.
    pub most_reserved_percent: u32,
    /// What the test of admission may compute for all service flows that are admitted at once, steps of
    /// about 10 ns: whoever runs the channel waits for it. 4,096 polls of different intervals take 150
    /// million.
    pub most_steps: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            headroom: 10,
            headroom_base: 200,
            peak_depth: 2_000_000,
            empty_grants: 8,
            queue_indicator_percent: 1,
            proactive_percent: 5,
            proactive_jitter_eighths: 1,
            quantum: 1528,
            least_part: 64,
            most_outstanding: 64 << 20,
            patience: 1_000_000_000,
            rescue_maps: 16,
            unfit_maps: 64,
            most_reserved_percent: 90,
            most_steps: 200_000_000,
        }
    }
}

impl Parameters {
    /// A configured rate, bit/s, as grants count it: with MAC headers.
    pub(crate) fn with_headers(&self, rate: u64) -> u64 {
        let base = u128::from(self.headroom_base.max(1));
        let grown = u128::from(rate) * (base + u128::from(self.headroom)) / base;
        u64::try_from(grown).unwrap_or(u64::MAX)
    }
}
