// SPDX-License-Identifier: Apache-2.0
//! Faults from outside: links that are cut, hold frames back or become slow, processes of devices
//! that are stopped or die, hosts that become late. What a fault takes is counted.

use super::{World, checked_link};
use crate::departures::Departure;
use crate::error::{WorldError, invalid, limit};
use crate::lateness::Lateness;
use crate::link::{End, LinkConfig, LinkState};
use device::Books;

impl World {
    /// A device's books of one moment, of the life that its process has now.
    ///
    /// # Errors
    /// There is no such device.
    pub fn books(&self, device: &str) -> Result<Books, WorldError> {
        Ok(self.device(device)?.books())
    }

    /// What has left a device's queues since the last call; the first one gives nothing, and has
    /// departures recorded from then on.
    ///
    /// # Errors
    /// There is no such device; more has left than is kept.
    pub fn take_departures(&mut self, device: &str) -> Result<Vec<Departure>, WorldError> {
        self.check()?;
        let index = self.device_index(device)?;
        let node = &mut self.devices[index];
        let begins = !node.records_departures();
        match node.take_departures() {
            Some(departures) => Ok(departures),
            None if begins && node.records_departures() => Ok(Vec::new()),
            None if begins => Err(invalid(format!(
                "device \"{device}\" has too many traces for its departures; end them first"
            ))),
            None => Err(limit(format!(
                "more frames have left device \"{device}\" than are kept: take its departures \
                 more often"
            ))),
        }
    }

    /// Both directions of the link behind a device's port, and where each of them begins.
    fn directions(&self, device: &str, port: u16) -> Result<[(u32, u64, u16); 2], WorldError> {
        let index = self.device_index(device)?;
        let node = &self.devices[index];
        let out = node
            .link(port)
            .ok_or_else(|| invalid(format!("port {port} of device \"{device}\" has no link")))?;
        let back = match self.net.links[out as usize].to {
            End::Host(host) => {
                let host = &self.hosts[host as usize];
                (host.link, host.hash, 0)
            }
            End::Device(other, port) => {
                let other = &self.devices[other as usize];
                let link = other.link(port);
                // Links come in pairs.
                (link.unwrap_or(out), other.hash, port)
            }
        };
        Ok([(out, node.hash, port), back])
    }

    /// The link behind a port carries frames from now on, or keeps them, or loses them. Devices
    /// at its ends are told of a cut, as of a carrier that is lost.
    ///
    /// # Errors
    /// There is no such device, or no link.
    pub fn set_link_state(
        &mut self,
        device: &str,
        port: u16,
        state: LinkState,
    ) -> Result<(), WorldError> {
        self.check()?;
        self.run_until(self.net.now)?;
        let directions = self.directions(device, port)?;
        for (link, hash, at) in directions {
            self.net.set_link_state(link, state, hash, at);
        }
        for (link, ..) in directions {
            if let End::Device(index, port) = self.net.links[link as usize].to {
                let node = &mut self.devices[index as usize];
                node.device.set_port_up(port, state != LinkState::Cut);
            }
        }
        Ok(())
    }

    /// Frames that come to the link behind a port from now on have another rate, delay and
    /// jitter. The link's of either direction, as they were.
    ///
    /// # Errors
    /// There is no such device, or no link; a value is not possible.
    pub fn set_link(
        &mut self,
        device: &str,
        port: u16,
        config: LinkConfig,
    ) -> Result<LinkConfig, WorldError> {
        self.check()?;
        self.run_until(self.net.now)?;
        let config = checked_link(config)?;
        let directions = self.directions(device, port)?;
        let before = self.net.links[directions[0].0 as usize].config();
        for (link, ..) in directions {
            self.net.links[link as usize].set_config(config);
        }
        Ok(before)
    }

    /// A host's processes are so late from now on.
    ///
    /// # Errors
    /// There is no such host.
    pub fn set_host_lateness(&mut self, host: &str, lateness: Lateness) -> Result<(), WorldError> {
        self.check()?;
        self.run_until(self.net.now)?;
        let index = self.host_index(host)?;
        let host = &mut self.hosts[index];
        host.lateness = lateness;
        host.gate.set_lateness(lateness);
        for application in &mut self.applications {
            if application.common.source as usize == index {
                application.common.lateness = lateness;
            }
        }
        Ok(())
    }

    /// A device's process is stopped: nothing happens in it, and frames wait in front of it, as
    /// far as there is room.
    ///
    /// # Errors
    /// There is no such device, its process does not run, or upstream channels carry its frames.
    pub fn stop_device(&mut self, device: &str) -> Result<(), WorldError> {
        let index = self.running(device)?;
        self.devices[index].stop(&mut self.net);
        Ok(())
    }

    /// A stopped process goes on.
    ///
    /// # Errors
    /// There is no such device, or its process is not stopped.
    pub fn continue_device(&mut self, device: &str) -> Result<(), WorldError> {
        self.check()?;
        self.run_until(self.net.now)?;
        let index = self.device_index(device)?;
        if self.devices[index].silent() != Some("is stopped") {
            return Err(invalid(format!("device \"{device}\" is not stopped")));
        }
        self.devices[index].go_on(&self.runtime, &mut self.net);
        self.check()
    }

    /// A device's process dies, with its state, its streams and the frames that it has. How many
    /// frames these were.
    ///
    /// # Errors
    /// There is no such device, it is dead already, or upstream channels carry its frames.
    pub fn kill_device(&mut self, device: &str) -> Result<u64, WorldError> {
        self.check()?;
        self.run_until(self.net.now)?;
        let index = self.device_index(device)?;
        self.without_channels(device)?;
        if self.devices[index].silent() == Some("is dead") {
            return Err(invalid(format!("device \"{device}\" is dead already")));
        }
        let lost = self.devices[index].die(&mut self.net);
        for stream in &mut self.streams {
            if stream.as_ref().is_some_and(|open| open.1 as usize == index) {
                *stream = None;
            }
        }
        Ok(lost)
    }

    /// A dead device is started again, as [`World::add_device`] adds one.
    ///
    /// # Errors
    /// There is no such device, or it is not dead.
    pub fn start_device(&mut self, device: &str) -> Result<(), WorldError> {
        self.check()?;
        self.run_until(self.net.now)?;
        let index = self.device_index(device)?;
        if self.devices[index].silent() != Some("is dead") {
            return Err(invalid(format!("device \"{device}\" is not dead")));
        }
        self.devices[index].start();
        Ok(())
    }

    fn running(&mut self, device: &str) -> Result<usize, WorldError> {
        self.check()?;
        self.run_until(self.net.now)?;
        let index = self.device_index(device)?;
        self.without_channels(device)?;
        match self.devices[index].silent() {
            None => Ok(index),
            Some(why) => Err(invalid(format!("device \"{device}\" {why} already"))),
        }
    }

    fn without_channels(&self, device: &str) -> Result<(), WorldError> {
        if self.channels.is_empty() {
            return Ok(());
        }
        Err(invalid(format!(
            "device \"{device}\" is in a world with upstream channels, which go on by themselves: \
             its process can be neither stopped nor killed"
        )))
    }
}
