// SPDX-License-Identifier: Apache-2.0
//! Adds players of adaptive videos to a world.

use super::World;
use super::tcp_traffic::{TcpOptions, checked_bytes, config};
use super::traffic::{Flow, Times, checked_interval};
use crate::application::{Kind as Traffic, PlayerConfig, Video, VideoConfig};
use crate::error::{WorldError, invalid};
use crate::wire::PROTOCOL_TCP;

/// Rates of a ladder.
const MOST_RATES: usize = 64;
/// bit/s of a rate.
const MOST_RATE: u64 = 10_000_000_000;
const MOST_SAMPLES: u32 = 1000;

/// A video to add, which the flow's source watches.
#[derive(Clone, Copy, Debug)]
pub struct VideoOptions<'a> {
    /// When the first segment is asked for, and when everything ends.
    pub times: Times,
    /// Rates that it is offered at, bit/s, each higher than the one before.
    pub ladder: &'a [u64],
    /// Playing time of a segment, nanoseconds.
    pub segment: u64,
    /// With more playing time than that the player asks for nothing, nanoseconds; a segment's at
    /// least.
    pub buffer: u64,
    /// Share of the mean throughput that a rate may have, thousandths.
    pub safety: u32,
    /// Segments that the mean is of.
    pub samples: u32,
    /// Bytes of a request.
    pub request: u64,
    /// How TCP works.
    pub tcp: TcpOptions,
}

fn player(options: &VideoOptions<'_>) -> Result<PlayerConfig, WorldError> {
    let ladder = options.ladder;
    if ladder.is_empty() || ladder.len() > MOST_RATES {
        return Err(invalid(format!(
            "a video is offered at 1 to {MOST_RATES} rates, not {}",
            ladder.len()
        )));
    }
    if let Some(rate) = ladder.iter().find(|rate| !(1..=MOST_RATE).contains(*rate)) {
        return Err(invalid(format!(
            "a rate of a video is 1 to {MOST_RATE} bit/s, not {rate}"
        )));
    }
    if let Some(two) = ladder.windows(2).find(|two| two[1] <= two[0]) {
        return Err(invalid(format!(
            "each rate of a video is higher than the one before: {} bit/s is not above {}",
            two[1], two[0]
        )));
    }
    let segment = checked_interval("the playing time of a segment", options.segment)?;
    let buffer = checked_interval("the playing time that a buffer holds", options.buffer)?;
    if segment > buffer {
        return Err(invalid(format!(
            "a segment of {segment} ns does not fit into a buffer of {buffer} ns"
        )));
    }
    if options.safety == 0 || options.safety > 1000 {
        return Err(invalid(format!(
            "a rate has 1 to 1000 thousandths of the throughput, not {}",
            options.safety
        )));
    }
    if options.samples == 0 || options.samples > MOST_SAMPLES {
        return Err(invalid(format!(
            "the throughput is the mean of 1 to {MOST_SAMPLES} segments, not {}",
            options.samples
        )));
    }
    Ok(PlayerConfig {
        ladder: ladder.to_vec(),
        segment,
        buffer,
        safety: options.safety,
        samples: options.samples as usize,
    })
}

impl World {
    /// Adds somebody who watches an adaptive video: the flow's source, from its destination.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_video(
        &mut self,
        flow: &Flow<'_>,
        options: &VideoOptions<'_>,
    ) -> Result<u32, WorldError> {
        let player = player(options)?;
        let request = checked_bytes("a request", options.request)?;
        let tcp = config(&options.tcp)?;
        let mut draft = self.draft(PROTOCOL_TCP, flow, options.times)?;
        let config = VideoConfig {
            tcp,
            player,
            request,
            start: draft.start,
            stop: draft.stop,
        };
        let video = Video::new(config, &mut draft.common);
        Ok(self.begin(draft.common, Traffic::Video(Box::new(video))))
    }
}
