// SPDX-License-Identifier: Apache-2.0
//! Tells the results of a world.

use device::Device;

use super::run::{Sampler, Source};
use super::traffic::checked_interval;
use super::{World, device_rank};
use crate::application::{Application, Counts, Kind as Traffic, Tcp, TransferInfo, VideoColumns};
use crate::error::{WorldError, invalid};
use crate::host::HostCounters;
use crate::meter::Meter;
use crate::net::Totals;
use crate::records::PacketRecords;
use crate::samples::Samples;
use crate::schedule::Kind;

impl World {
    /// # Errors
    /// There is no such application.
    pub(super) fn application(&self, number: u32) -> Result<&Application, WorldError> {
        self.applications
            .get(number as usize)
            .ok_or_else(|| self.unknown(number))
    }

    fn unknown(&self, number: u32) -> WorldError {
        invalid(format!(
            "there is no application {number}; there are {}, counted from 0",
            self.applications.len()
        ))
    }

    /// Hash over every packet event so far.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.net.digest.value()
    }

    /// Frames of the whole world.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.net.totals
    }

    /// Frames of a host.
    ///
    /// # Errors
    /// There is no such host.
    pub fn host_counters(&self, host: &str) -> Result<HostCounters, WorldError> {
        Ok(self.hosts[self.host_index(host)?].counters)
    }

    /// A device, to look at.
    ///
    /// # Errors
    /// There is no such device.
    pub fn device(&self, name: &str) -> Result<&Device, WorldError> {
        Ok(&self.devices[self.device_index(name)?].device)
    }

    /// What an application's packets came to so far.
    ///
    /// # Errors
    /// There is no such application.
    pub fn counts(&self, application: u32) -> Result<Counts, WorldError> {
        Ok(self.application(application)?.common.counts)
    }

    /// When each probe was sent, reached the destination, and came back; -1 is not at all.
    ///
    /// # Errors
    /// The application has no probes.
    pub fn probe_records(&self, application: u32) -> Result<[&[i64]; 3], WorldError> {
        match &self.application(application)?.kind {
            Traffic::Probes(probes) => Ok(probes.columns()),
            _ => Err(invalid(format!(
                "application {application} sends no probes"
            ))),
        }
    }

    /// When each request over UDP was made, and when its reply was there; -1 is not at all.
    ///
    /// # Errors
    /// The application makes no such requests.
    pub fn round_trip_records(&self, application: u32) -> Result<[&[i64]; 2], WorldError> {
        match &self.application(application)?.kind {
            Traffic::RequestResponse(requests) => Ok(requests.columns()),
            _ => Err(invalid(format!(
                "application {application} makes no requests over UDP"
            ))),
        }
    }

    /// When each recorded packet left its host and reached the other one; -1 is not yet.
    ///
    /// # Errors
    /// The application records none.
    pub fn packet_records(&self, application: u32) -> Result<[&[i64]; 2], WorldError> {
        let records = &self.application(application)?.common.records;
        let records = records.as_ref().map(|records| records.columns());
        records.ok_or_else(|| {
            invalid(format!(
                "application {application} records no packets: its one_in is 0"
            ))
        })
    }

    /// The TCP sender of an application; of requests the server.
    ///
    /// # Errors
    /// The application does not use TCP.
    pub fn transfer_info(&self, application: u32) -> Result<TransferInfo, WorldError> {
        Ok(self.tcp(application)?.info())
    }

    /// When each message or request was handed to TCP, and when all of it, or all of the
    /// response, had arrived; -1 is not yet.
    ///
    /// # Errors
    /// The application does not use TCP.
    pub fn message_records(&self, application: u32) -> Result<[&[i64]; 2], WorldError> {
        Ok(self.tcp(application)?.columns())
    }

    /// When each page began, and when its last object was there; -1 is not yet.
    ///
    /// # Errors
    /// The application loads no pages.
    pub fn page_records(&self, application: u32) -> Result<[&[i64]; 2], WorldError> {
        match &self.application(application)?.kind {
            Traffic::Pages(pages) => Ok(pages.columns()),
            _ => Err(invalid(format!("application {application} loads no pages"))),
        }
    }

    /// The segments of a video.
    ///
    /// # Errors
    /// The application watches none.
    pub fn video_records(&self, application: u32) -> Result<VideoColumns<'_>, WorldError> {
        match &self.application(application)?.kind {
            Traffic::Video(video) => Ok(video.columns()),
            _ => Err(invalid(format!(
                "application {application} watches no video"
            ))),
        }
    }

    fn tcp(&self, number: u32) -> Result<&Tcp, WorldError> {
        match &self.application(number)?.kind {
            Traffic::Tcp(tcp) => Ok(tcp),
            _ => Err(invalid(format!("application {number} does not use TCP"))),
        }
    }

    /// Samples applications from now on, first one interval from now.
    ///
    /// # Errors
    /// There is no such application, or it is sampled already; the interval is not possible.
    pub fn sample(&mut self, applications: &[u32], interval: u64) -> Result<(), WorldError> {
        self.check()?;
        let interval = checked_interval("a time between samples", interval)?;
        for (place, &number) in applications.iter().enumerate() {
            let sampled = self.application(number)?.samples.is_some();
            if sampled || applications[..place].contains(&number) {
                return Err(invalid(format!("application {number} is sampled already")));
            }
        }
        for &number in applications {
            let application = &mut self.applications[number as usize];
            application.samples = Some(Samples::new(application.reading().sender.is_some()));
        }
        let number = self.samplers.len() as u32;
        let rank = device_rank(Kind::Sampler, 0, 0, number);
        let source = self.source(rank, Source::Sampler(number));
        self.samplers.push(Sampler {
            source,
            interval,
            applications: applications.to_vec(),
        });
        let first = self.net.now + interval;
        self.net.schedule.set(source, Some(first));
        Ok(())
    }

    /// Looks at what a device's port has put on its line, at an interval, from now on.
    ///
    /// # Errors
    /// There is no such device or port, it is looked at already, or the interval is none.
    pub fn meter(&mut self, device: &str, port: u16, interval: u64) -> Result<(), WorldError> {
        self.check()?;
        let interval = checked_interval("a time between looks at a port", interval)?;
        let index = self.device_index(device)?;
        if !self.devices[index].has_port(port) {
            return Err(invalid(format!(
                "device \"{device}\" has no port {port} for a link"
            )));
        }
        if self.meter_of(index, port).is_some() {
            return Err(invalid(format!(
                "port {port} of device \"{device}\" is looked at already"
            )));
        }
        let number = self.meters.len() as u32;
        let id = self.devices[index].device.config().device_id;
        let rank = device_rank(Kind::Sampler, id, port, 0);
        let source = self.source(rank, Source::Meter(number));
        self.meters
            .push(Meter::new(source, interval, index as u32, port));
        let first = self.net.now + interval;
        self.net.schedule.set(source, Some(first));
        Ok(())
    }

    /// When a port was looked at, and how many bytes it had put on its line by then, with all that
    /// its framing adds and with the MAPs that went before its frames.
    ///
    /// # Errors
    /// Nobody looks at it.
    pub fn metered(&self, device: &str, port: u16) -> Result<[&[i64]; 2], WorldError> {
        let found = self.meter_of(self.device_index(device)?, port);
        found.map(Meter::columns).ok_or_else(|| {
            invalid(format!(
                "nobody looks at port {port} of device \"{device}\": call meter first"
            ))
        })
    }

    fn meter_of(&self, device: usize, port: u16) -> Option<&Meter> {
        let same = |meter: &&Meter| meter.device as usize == device && meter.port == port;
        self.meters.iter().find(same)
    }

    /// Has the handshakes and pure acknowledgements recorded that the receiver of an application's
    /// data sends from now on: see [`Self::acknowledgement_records`].
    ///
    /// # Errors
    /// The application does not use TCP, or has pages, which are on many connections.
    pub fn record_acknowledgements(&mut self, application: u32) -> Result<(), WorldError> {
        let role = self.tcp(application)?.receiver_role();
        let common = &mut self.applications[application as usize].common;
        common
            .acknowledgements
            .get_or_insert_with(|| (role, PacketRecords::new(1)));
        Ok(())
    }

    /// When each of them left the receiver's host and reached the sender's; -1 is not yet.
    ///
    /// # Errors
    /// Nobody asked for them to be recorded.
    pub fn acknowledgement_records(&self, application: u32) -> Result<[&[i64]; 2], WorldError> {
        let records = &self.application(application)?.common.acknowledgements;
        let records = records.as_ref().map(|(_, records)| records.columns());
        records.ok_or_else(|| {
            invalid(format!(
                "acknowledgements of application {application} are not recorded: call \
                 record_acknowledgements first"
            ))
        })
    }

    /// What was sampled of an application: columns by name.
    ///
    /// # Errors
    /// It is not sampled.
    pub fn samples(&self, application: u32) -> Result<Vec<(&'static str, &[i64])>, WorldError> {
        let samples = &self.application(application)?.samples;
        let samples = samples.as_ref().map(|samples| samples.columns().collect());
        samples.ok_or_else(|| invalid(format!("application {application} is not sampled")))
    }
}
