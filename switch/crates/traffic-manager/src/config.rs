// SPDX-License-Identifier: Apache-2.0
//! What `switch/proto/docsis/tm/v1/traffic_manager.proto` configures and reports.
//!
//! Rates are in bit/s of Ethernet frames to the end of the CRC, lengths in bytes, times
//! in nanoseconds since the process started; 0 means what the .proto says.

use crate::acks::AckSuppression;
use crate::delay::Path;
use crate::error::ConfigError;
use crate::framing::Framing;
use crate::limits::*;
use crate::packet_queue_config::PacketQueueChange;
use crate::queue_id::QueueId;
use crate::sub_queues::RoundRobin;
use crate::traffic::Traffic;
use std::fmt;

/// A port's configuration; the default is no rate limit and no delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortConfig {
    /// Port number.
    pub port: u16,
    /// bit/s; 0 is no limit.
    pub rate: u64,
    /// Added before ingress, ns.
    pub receive_delay_ns: u64,
    /// Added after egress, ns.
    pub transmit_delay_ns: u64,
    /// Most that is added before ingress beside the delay, ns: drawn for each frame, uniformly.
    pub receive_jitter_ns: u64,
    /// Most that is added after egress beside the delay, ns.
    pub transmit_jitter_ns: u64,
    /// Frames of a million that the link loses on their way to the switch, each drawn by itself.
    pub receive_loss_ppm: u32,
    /// Frames of a million that the link loses on their way from the switch.
    pub transmit_loss_ppm: u32,
    /// Bytes in each delay line; 0 is [`DEFAULT_DELAY_LIMIT`].
    pub delay_limit: u64,
    /// Bytes in queue 0; 0 is [`DEFAULT_PORT_QUEUE_LIMIT`].
    pub queue_limit: u64,
    /// Bytes saved up at `rate` while nothing is sent; 0 is [`PEAK_BURST`].
    pub burst: u64,
    /// The packets that carry its frames, which `rate` and `burst` then count.
    pub framing: Framing,
    /// What leaves here comes from here again. The port needs no interface, and has no delays.
    pub loop_back: bool,
}

/// A service flow's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceFlowConfig {
    /// Where it is queued; `queue_id` is at least 1.
    pub queue: QueueId,
    /// Maximum Sustained Traffic Rate, bit/s; 0 is no limit.
    pub max_sustained_rate: u64,
    /// Maximum Traffic Burst, bytes; at least 1522 where there is a rate.
    pub max_burst: u64,
    /// Peak Traffic Rate, bit/s; 0 is no limit.
    pub peak_rate: u64,
    /// Bytes in the sustained bucket from now on; `None`: full when new, kept otherwise.
    pub initial_tokens: Option<u64>,
    /// Bytes that may be queued; 0 is [`DEFAULT_FLOW_LIMIT`].
    pub queue_limit: u64,
    /// 0 to 7, 7 first: the order of what is sent beyond minimum reserved rates.
    pub traffic_priority: u8,
    /// Minimum Reserved Traffic Rate, bit/s; 0 is none. At most
    /// `max_sustained_rate` where there is one.
    pub min_reserved_rate: u64,
    /// Bytes that a shorter frame counts for in the minimum reserved rate.
    pub assumed_packet_size: u32,
    /// Sub-queues that share what the flow sends in turns; 0 and 1 are one queue.
    pub sub_queues: u32,
    /// How they take turns; of no meaning for one queue.
    pub round_robin: RoundRobin,
    /// Which TCP acknowledgements its queue does without; needs one queue.
    pub ack_suppression: AckSuppression,
}

/// One request to the traffic manager: applied as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configuration {
    /// Each replaces what the port had.
    pub ports: Vec<PortConfig>,
    /// Each creates or changes a service flow's queue.
    pub service_flows: Vec<ServiceFlowConfig>,
    /// Removed with the frames in them.
    pub removed: Vec<QueueId>,
    /// Changes to the queues of the bmv2 model, in this order.
    pub packet_queues: Vec<PacketQueueChange>,
}

/// A port's configuration, counters and state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortState {
    /// As configured.
    pub config: PortConfig,
    /// From the wire.
    pub received: Traffic,
    /// To the wire.
    pub sent: Traffic,
    /// Dropped: delay line towards the switch full.
    pub receive_overflow: Traffic,
    /// Dropped: delay line from the switch full.
    pub transmit_overflow: Traffic,
    /// Lost on the link towards the switch, as configured.
    pub receive_lost: Traffic,
    /// Lost on the link from the switch, as configured.
    pub transmit_lost: Traffic,
    /// Dropped: the interface did not take it.
    pub send_failed: Traffic,
    /// Dropped: queue 0 full.
    pub queue_overflow: Traffic,
    /// In queue 0 now.
    pub queued: Traffic,
}

/// A service flow's configuration, counters and state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceFlowState {
    /// As configured.
    pub config: ServiceFlowConfig,
    /// Accepted into the queue.
    pub enqueued: Traffic,
    /// Left the queue to the port.
    pub dequeued: Traffic,
    /// Dropped at the queue's limit, or longer than a bucket is deep.
    pub overflow: Traffic,
    /// Dequeued and then dropped by the egress pipeline; no tokens spent.
    pub egress_dropped: Traffic,
    /// Removed with the queue or by a new pipeline.
    pub flushed: Traffic,
    /// TCP acknowledgements taken out of the queue, as a later one made them superfluous.
    pub suppressed: Traffic,
    /// In the queue now.
    pub queued: Traffic,
    /// Dequeued frames that were sent within the minimum reserved rate.
    pub reserved: Traffic,
    /// Dequeued frames whose queue had been short of tokens since it was last empty.
    pub delayed: Traffic,
    /// Sustained tokens now, in 1/8,000,000 byte.
    pub sustained_tokens: u64,
    /// Peak tokens now, in 1/8,000,000 byte.
    pub peak_tokens: u64,
}

fn check_rate(place: &dyn fmt::Display, field: &str, rate: u64) -> Result<(), ConfigError> {
    if rate > MAX_RATE {
        return Err(ConfigError::invalid(
            place,
            format!("{field} is {rate} bit/s, more than {MAX_RATE}"),
        ));
    }
    Ok(())
}

impl PortConfig {
    /// Checks ranges.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let place = format!("port {}", self.port);
        check_rate(&place, "rate", self.rate)?;
        if self.burst != 0 && !(PEAK_BURST..=MAX_BURST).contains(&self.burst) {
            return Err(ConfigError::invalid(
                place,
                format!(
                    "burst is {} bytes, not within {PEAK_BURST} to {MAX_BURST}",
                    self.burst
                ),
            ));
        }
        self.framing.check(&place)?;
        self.framing.check_rate(&place, self.rate)?;
        if self.loop_back && !(1..=MAX_LOOP_PORT).contains(&self.port) {
            return Err(ConfigError::invalid(
                place,
                format!("loop_back: only ports 1 to {MAX_LOOP_PORT} can loop back"),
            ));
        }
        for (field, delay) in [
            ("receive_delay_ns", self.receive_delay_ns),
            ("transmit_delay_ns", self.transmit_delay_ns),
            ("receive_jitter_ns", self.receive_jitter_ns),
            ("transmit_jitter_ns", self.transmit_jitter_ns),
        ] {
            if self.loop_back && delay != 0 {
                return Err(ConfigError::invalid(
                    place,
                    format!("{field} is {delay}, and a port that loops back has no delays"),
                ));
            }
            if delay > MAX_DELAY_NS {
                return Err(ConfigError::invalid(
                    place,
                    format!("{field} is {delay}, more than a minute"),
                ));
            }
        }
        for (field, loss) in [
            ("receive_loss_ppm", self.receive_loss_ppm),
            ("transmit_loss_ppm", self.transmit_loss_ppm),
        ] {
            if self.loop_back && loss != 0 {
                return Err(ConfigError::invalid(
                    place,
                    format!("{field} is {loss}, and a port that loops back loses nothing"),
                ));
            }
            if loss > MILLION {
                return Err(ConfigError::invalid(
                    place,
                    format!("{field} is {loss}, more than all of a million"),
                ));
            }
        }
        Ok(())
    }

    /// What happens to frames on their way to the switch.
    #[must_use]
    pub fn receive_path(&self) -> Path {
        Path {
            delay: self.receive_delay_ns,
            jitter: self.receive_jitter_ns,
            loss_ppm: self.receive_loss_ppm,
            limit: self.effective_delay_limit(),
        }
    }

    /// What happens to frames on their way from the switch.
    #[must_use]
    pub fn transmit_path(&self) -> Path {
        Path {
            delay: self.transmit_delay_ns,
            jitter: self.transmit_jitter_ns,
            loss_ppm: self.transmit_loss_ppm,
            limit: self.effective_delay_limit(),
        }
    }

    pub(crate) fn effective_queue_limit(&self) -> u64 {
        or_default(self.queue_limit, DEFAULT_PORT_QUEUE_LIMIT)
    }

    pub(crate) fn effective_burst(&self) -> u64 {
        or_default(self.burst, PEAK_BURST)
    }

    /// Bytes that each of the port's delay lines may hold.
    #[must_use]
    pub fn effective_delay_limit(&self) -> u64 {
        or_default(self.delay_limit, DEFAULT_DELAY_LIMIT)
    }
}

impl ServiceFlowConfig {
    /// Checks ranges.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let place = self.queue;
        let bad = |text: String| Err(ConfigError::invalid(place, text));
        if place.queue_id == 0 {
            return bad("queue_id 0 is the port's own queue, not a service flow".into());
        }
        if place.queue_id > MAX_QUEUE_ID {
            return bad(format!("queue_id is more than {MAX_QUEUE_ID}"));
        }
        check_rate(&place, "max_sustained_rate", self.max_sustained_rate)?;
        check_rate(&place, "peak_rate", self.peak_rate)?;
        check_rate(&place, "min_reserved_rate", self.min_reserved_rate)?;
        if self.max_sustained_rate > 0 && self.min_reserved_rate > self.max_sustained_rate {
            return bad(format!(
                "min_reserved_rate is {} bit/s, more than max_sustained_rate, {}",
                self.min_reserved_rate, self.max_sustained_rate
            ));
        }
        if self.assumed_packet_size > MAX_ASSUMED_PACKET_SIZE {
            return bad(format!(
                "assumed_packet_size is {} bytes, more than {MAX_ASSUMED_PACKET_SIZE}",
                self.assumed_packet_size
            ));
        }
        if self.sub_queues > MAX_SUB_QUEUES {
            return bad(format!(
                "sub_queues is {}, more than {MAX_SUB_QUEUES}",
                self.sub_queues
            ));
        }
        if self.sub_queues > 1 && self.ack_suppression != AckSuppression::Off {
            return bad(format!(
                "ack_suppression needs one queue, but sub_queues is {}",
                self.sub_queues
            ));
        }
        if self.max_sustained_rate > 0 && self.max_burst < PEAK_BURST {
            return bad(format!(
                "max_burst is {} bytes, less than a frame of {PEAK_BURST}",
                self.max_burst
            ));
        }
        if self.max_burst > MAX_BURST {
            return bad(format!("max_burst is more than {MAX_BURST} bytes"));
        }
        if self.traffic_priority > 7 {
            return bad(format!(
                "traffic_priority is {}, more than 7",
                self.traffic_priority
            ));
        }
        match self.initial_tokens {
            Some(tokens) if tokens > self.max_burst => bad(format!(
                "initial_tokens is {tokens} bytes, more than max_burst, {}",
                self.max_burst
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn effective_queue_limit(&self) -> u64 {
        or_default(self.queue_limit, DEFAULT_FLOW_LIMIT)
    }
}

fn or_default(value: u64, default: u64) -> u64 {
    if value == 0 { default } else { value }
}
