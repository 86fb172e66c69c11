// SPDX-License-Identifier: Apache-2.0
//! Upstream channels: the request/grant MAC between modems' ports and the CMTS's.

use device::QueueId;
use grpc_services::proto::docsis::mac::v1::ChannelState;
use mac_channel::Statistics;
use mac_wire::{Capacity, FlowConfig, Profile, Sid};
use plant::{CaptureOutput, Captured, MapTraffic};
use xxhash_rust::xxh3::xxh3_64;

use super::run::Source;
use super::{World, checked_name, device_rank};
use crate::error::{WorldError, invalid};
use crate::link::End;
use crate::schedule::Kind;
use crate::upstream::Upstream;

/// Channels of a world: a MAP has a byte for the channel's number.
pub const MOST_CHANNELS: usize = 255;

impl World {
    /// Adds an upstream channel without service flows. Its first MAPs are made from now on.
    ///
    /// # Errors
    /// Which value is not possible; what the scheduler refuses of the profile.
    pub fn add_channel(&mut self, name: &str, profile: Profile) -> Result<(), WorldError> {
        self.run_until(self.net.now)?;
        let name = checked_name("channel", name)?;
        let index = self.channels.len();
        if index >= MOST_CHANNELS {
            return Err(invalid(format!(
                "a world has at most {MOST_CHANNELS} upstream channels"
            )));
        }
        if self.channel_names.contains_key(name) {
            return Err(invalid(format!("there is a channel \"{name}\" already")));
        }
        let seed = self.random("channel", name, 0).bits();
        let hash = xxh3_64(name.as_bytes());
        let rank = device_rank(Kind::Channel, 0, 0, index as u32);
        // A source that a refusal leaves without a time stays without one.
        let source = self.source(rank, Source::Channel(index as u32));
        let channel = Upstream::new(profile, index as u8 + 1, seed, hash, source)?;
        self.net.add_channel(source);
        self.channels.push(channel);
        self.channel_names.insert(name.to_owned(), index as u32);
        self.channels[index].schedule(&mut self.net);
        Ok(())
    }

    /// From now on a port sends nothing by itself: what its service flows may send, channels ask
    /// for ([`Self::add_upstream_flow`]). Frames arrive where the port's link leads, which carries
    /// the other direction alone. What the pipeline puts into queue 0 is sent by the service flow of
    /// queue `primary`.
    ///
    /// # Errors
    /// Which value is not possible: the port has no link to a device, or has frames, a rate or a
    /// delay.
    pub fn grant_port(&mut self, device: &str, port: u16, primary: u32) -> Result<(), WorldError> {
        self.run_until(self.net.now)?;
        let index = self.device_index(device)?;
        let node = &mut self.devices[index];
        let link = node.link(port).map(|link| self.net.links[link as usize].to);
        let Some(End::Device(cmts, cmts_port)) = link else {
            return Err(invalid(format!(
                "port {port} of device \"{device}\" has no link to a CMTS: connect it first"
            )));
        };
        if node.granted(port).is_some() {
            return Err(invalid(format!(
                "port {port} of device \"{device}\" is granted already"
            )));
        }
        let granted = node.device.set_granted(self.net.now, port, primary);
        granted.map_err(|refused| invalid(format!("device \"{device}\", {refused}")))?;
        node.set_granted(port, (cmts, cmts_port));
        node.reschedule(&mut self.net);
        Ok(())
    }

    /// The MAPs of a channel go downstream, before the frames of the CMTS's ports at which what it
    /// carries arrives, and take that much of their rates. Until this is called they take nothing.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn set_map_traffic(&mut self, channel: &str, each: MapTraffic) -> Result<(), WorldError> {
        self.run_until(self.net.now)?;
        let at = self.channel_index(channel)?;
        self.channels[at].set_map_traffic(each);
        Ok(())
    }

    /// A channel carries what waits in a queue of a granted port, as the service flow says. Its
    /// rates are what the CMTS enforces on grants; the modem shapes its requests by those of the
    /// queue in its traffic manager.
    ///
    /// # Errors
    /// Which value is not possible; what the scheduler refuses of the service flow.
    pub fn add_upstream_flow(
        &mut self,
        channel: &str,
        device: &str,
        queue: QueueId,
        flow: FlowConfig,
    ) -> Result<(), WorldError> {
        self.run_until(self.net.now)?;
        let at = self.channel_index(channel)?;
        let index = self.device_index(device)?;
        let node = &self.devices[index];
        let Some(to) = node.granted(queue.port) else {
            return Err(invalid(format!(
                "port {} of device \"{device}\" sends by itself: grant it first",
                queue.port
            )));
        };
        if queue.queue_id == 0 {
            return Err(invalid(format!(
                "queue 0 of device \"{device}\" is no service flow's: what goes there is sent by \
                 the primary one"
            )));
        }
        if let Some((other, sid)) = node.upstream(queue) {
            let name = self.channel_names.iter().find(|(_, at)| **at == other);
            return Err(invalid(format!(
                "{queue} of device \"{device}\" is SID {} of channel \"{}\" already",
                sid.0,
                name.map_or("", |(name, _)| name)
            )));
        }
        let place = (index as u32, queue);
        self.channels[at].add(self.net.now, flow, place, to)?;
        self.devices[index].set_upstream(queue, Some((at as u32, flow.sid)));
        // Frames may wait already.
        self.net.wake(at as u32, flow.sid);
        Ok(())
    }

    /// A channel carries a service flow no more. What it has sent whole still arrives, a frame that
    /// it has sent in part is dropped, and what waits, stays.
    ///
    /// # Errors
    /// There is no such channel, or no such SID on it.
    pub fn remove_upstream_flow(&mut self, channel: &str, sid: u16) -> Result<(), WorldError> {
        self.run_until(self.net.now)?;
        let at = self.channel_index(channel)?;
        let removed =
            self.channels[at].remove(&self.runtime, &mut self.net, &mut self.devices, Sid(sid));
        let Some((device, queue)) = removed else {
            return Err(invalid(format!("channel \"{channel}\" has no SID {sid}")));
        };
        self.devices[device as usize].set_upstream(queue, None);
        self.channels[at].schedule(&mut self.net);
        Ok(())
    }

    /// Keeps the last `maps` MAPs of a channel from now on, at most [`mac_channel::MOST_MAPS`]; 0:
    /// none. It changes nothing else.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn watch_channel(&mut self, channel: &str, maps: usize) -> Result<(), WorldError> {
        let at = self.channel_index(channel)?;
        self.channels[at].watch(maps);
        Ok(())
    }

    /// What a channel has counted, and its last MAPs, where somebody watches it.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn channel_state(&self, channel: &str) -> Result<ChannelState, WorldError> {
        let at = self.channel_index(channel)?;
        Ok(self.channels[at].state(channel, self.net.now, &self.devices))
    }

    /// Changes what other users leave of a channel, from the next MAP on that is made; `None`: all.
    ///
    /// # Errors
    /// There is no such channel; a rate or a variation that cannot be, or less than the channel has
    /// promised to service flows.
    pub fn set_channel_capacity(
        &mut self,
        channel: &str,
        capacity: Option<Capacity>,
    ) -> Result<(), WorldError> {
        self.run_until(self.net.now)?;
        let at = self.channel_index(channel)?;
        self.channels[at].set_capacity(self.net.now, capacity)
    }

    /// Writes a channel's frames into a capture of link type [`mac_wire::LINK_TYPE`] from now on, at
    /// most so many bytes: MAPs, requests that the CMTS hears, and bursts when their last byte has
    /// arrived. It changes nothing else.
    ///
    /// # Errors
    /// There is no such channel, or its frames are captured already, or cannot be.
    pub fn capture_channel(
        &mut self,
        channel: &str,
        out: CaptureOutput,
        bytes: u64,
    ) -> Result<(), WorldError> {
        let at = self.channel_index(channel)?;
        let begun = self.channels[at].capture(out, bytes);
        begun.map_err(|error| of_channel(channel, error))
    }

    /// Ends that; what became of it.
    ///
    /// # Errors
    /// There is no such channel, or its frames were not captured, or could not be written.
    pub fn end_capture(&mut self, channel: &str) -> Result<Captured, WorldError> {
        let at = self.channel_index(channel)?;
        let ended = self.channels[at].end_capture(self.net.now);
        ended.map_err(|error| of_channel(channel, error))
    }

    /// What a channel has counted.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn channel_statistics(&self, channel: &str) -> Result<&Statistics, WorldError> {
        let at = self.channel_index(channel)?;
        Ok(self.channels[at].channel().statistics())
    }

    /// # Errors
    /// There is no such channel.
    fn channel_index(&self, name: &str) -> Result<usize, WorldError> {
        let found = self.channel_names.get(name).copied();
        found
            .map(|index| index as usize)
            .ok_or_else(|| invalid(format!("there is no channel \"{name}\" in this world")))
    }
}

/// An error with the channel's name in front.
fn of_channel(channel: &str, error: WorldError) -> WorldError {
    match error {
        WorldError::Invalid(words) => invalid(format!("channel \"{channel}\": {words}")),
        other => other,
    }
}
