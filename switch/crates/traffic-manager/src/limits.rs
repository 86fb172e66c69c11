// SPDX-License-Identifier: Apache-2.0
//! Limits of configurations, and the default values.

/// What a frame counts for at least in a delay line's limit, bytes, so that a line of the shortest
/// frames has a bound, too: its place takes memory whatever its length. No frame on a wire is as short.
/// (In queues frames are at least 64 bytes long.)
pub(crate) const LEAST_FRAME: u64 = 32;

/// The longest frame that a device receives as a whole, or makes, bytes.
pub const LONGEST_FRAME: usize = 16 * 1024;
/// What the longest frame may take in packets of a fixed length ([`crate::Framing`]), seconds.
pub(crate) const MOST_FRAME_SECONDS: u64 = 3600;
/// Depth of the peak bucket in bytes: the longest VLAN-tagged Ethernet frame
/// with FCS, as in the second inequality of DOCSIS rate shaping.
pub const PEAK_BURST: u64 = 1522;
/// Limit of a service flow's queue where none is configured, bytes.
pub const DEFAULT_FLOW_LIMIT: u64 = 64 << 20;
/// Limit of a port's own queue where none is configured, bytes.
pub const DEFAULT_PORT_QUEUE_LIMIT: u64 = 4 << 20;
/// Limit of each of a port's delay lines where none is configured, bytes.
pub const DEFAULT_DELAY_LIMIT: u64 = 64 << 20;
/// Highest rate that is accepted, bit/s.
pub const MAX_RATE: u64 = 1_000_000_000_000;
/// Largest burst that is accepted, bytes (TLV 24.9 has 32 bits).
pub const MAX_BURST: u64 = u32::MAX as u64;
/// Longest delay of a port that is accepted, nanoseconds.
pub const MAX_DELAY_NS: u64 = 60_000_000_000;
/// A loss is counted in millionths of the frames.
pub const MILLION: u32 = 1_000_000;
/// Largest assumed packet size that is accepted, bytes (TLV 24/25.11 has 16 bits).
pub const MAX_ASSUMED_PACKET_SIZE: u32 = u16::MAX as u32;
/// Most sub-queues of a service flow.
pub const MAX_SUB_QUEUES: u32 = 256;
/// Highest queue_id: the pipeline's metadata field has 16 bits.
pub const MAX_QUEUE_ID: u32 = u16::MAX as u32;
/// Highest port that can loop back: v1model's ports have 9 bits, and the last one drops.
pub const MAX_LOOP_PORT: u16 = 510;
