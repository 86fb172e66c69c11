// SPDX-License-Identifier: Apache-2.0
//! Adds web users to a world.

use super::World;
use super::tcp_traffic::{TcpOptions, checked_bytes, config};
use super::traffic::{Flow, Times};
use crate::application::{
    Content, Kind as Traffic, MOST_VARIATION, Named, Pages, PagesConfig, Server, Timed,
};
use crate::error::{WorldError, invalid};
use crate::random::Random;
use crate::wire::PROTOCOL_TCP;

const MOST_SERVERS: usize = 16;
const MOST_CONNECTIONS: u16 = 32;
const MOST_OBJECTS: u32 = 1000;
/// Bytes of a page.
const MOST_PAGE: u64 = 1 << 32;
/// The longest pause between two pages, nanoseconds.
const MOST_PAUSE: u64 = 3_600_000_000_000;
/// The least mean gap between two objects, nanoseconds: what follows at once would never end.
const LEAST_GAP: u64 = 1_000_000;
/// Bytes of a segment of an object.
const MOST_SEGMENT: u64 = 65_535;
/// Mean segments of an object, and mean objects of a page, thousandths.
const MOST_SEGMENTS: u64 = 1_000_000_000;
const MOST_TIMED_OBJECTS: u64 = 1_000_000;

/// A web user to add.
#[derive(Clone, Debug)]
pub struct PagesOptions<'a> {
    /// When the first page begins, and when everything ends.
    pub times: Times,
    /// More servers than the flow's destination: hosts and ports. Objects are on all of them in
    /// turns.
    pub more_servers: Vec<(&'a str, u16)>,
    /// What pages have.
    pub content: Content,
    /// Connections to one server at once; each has one object.
    pub connections: u16,
    /// Bytes of a request.
    pub request: u64,
    /// How TCP works.
    pub tcp: TcpOptions,
}

fn checked(options: &PagesOptions<'_>) -> Result<(), WorldError> {
    match &options.content {
        Content::Named(named) => checked_named(named)?,
        Content::Timed(timed) => checked_timed(timed)?,
    }
    if options.connections == 0 || options.connections > MOST_CONNECTIONS {
        return Err(invalid(format!(
            "there are 1 to {MOST_CONNECTIONS} connections to a server at once, not {}",
            options.connections
        )));
    }
    if options.more_servers.len() >= MOST_SERVERS {
        return Err(invalid(format!(
            "a page is on {MOST_SERVERS} servers at most"
        )));
    }
    Ok(())
}

fn checked_named(named: &Named) -> Result<(), WorldError> {
    let objects = named.objects;
    if objects > MOST_OBJECTS {
        return Err(invalid(format!(
            "a page has {MOST_OBJECTS} objects at most, not {objects}"
        )));
    }
    if named.html == 0 || named.page > MOST_PAGE {
        return Err(invalid(format!(
            "a page has {MOST_PAGE} bytes at most and its HTML one at least, not {} and {}",
            named.page, named.html
        )));
    }
    if named.page < named.html.saturating_add(objects.into())
        || (objects == 0 && named.page != named.html)
    {
        return Err(invalid(format!(
            "a page of {} bytes is not an HTML file of {} and {objects} objects of a byte at least",
            named.page, named.html
        )));
    }
    if named.variation > MOST_VARIATION {
        return Err(invalid(format!(
            "sizes of objects have a coefficient of variation of {} at most",
            MOST_VARIATION / 1000
        )));
    }
    checked_pause(named.pause)
}

fn checked_timed(timed: &Timed) -> Result<(), WorldError> {
    let laws = [
        ("objects", timed.objects),
        ("gaps", timed.gap),
        ("segments", timed.segments),
        ("pauses", timed.pause),
    ];
    for (what, law) in laws {
        if !law.is_possible() {
            return Err(invalid(format!(
                "{what} with a mean of {} and a shape of {} thousandths are not possible: a shape \
                 is above 1 and at most 100, and a mean above 0",
                law.mean, law.shape
            )));
        }
    }
    if timed.gap.mean < LEAST_GAP {
        return Err(invalid(format!(
            "a gap between objects is {LEAST_GAP} ns at least in the mean, not {}",
            timed.gap.mean
        )));
    }
    if timed.segment == 0 || timed.segment > MOST_SEGMENT {
        return Err(invalid(format!(
            "a segment of an object has 1 to {MOST_SEGMENT} bytes, not {}",
            timed.segment
        )));
    }
    if timed.segments.mean > MOST_SEGMENTS || timed.objects.mean > MOST_TIMED_OBJECTS {
        return Err(invalid(format!(
            "a page has at most {} objects and an object {} segments in the mean",
            MOST_TIMED_OBJECTS / 1000,
            MOST_SEGMENTS / 1000
        )));
    }
    checked_pause(timed.pause.mean)
}

fn checked_pause(pause: u64) -> Result<(), WorldError> {
    if pause > MOST_PAUSE {
        return Err(invalid(format!(
            "a pause between pages is an hour at most, not {pause} ns"
        )));
    }
    Ok(())
}

impl World {
    /// Adds a web user, who loads one page after the other.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_pages(
        &mut self,
        flow: &Flow<'_>,
        options: &PagesOptions<'_>,
    ) -> Result<u32, WorldError> {
        checked(options)?;
        let request = checked_bytes("a request", options.request)?;
        let tcp = config(&options.tcp)?;
        let user = self.host_index(flow.source)?;
        let places = std::iter::once((flow.destination, flow.port))
            .chain(options.more_servers.iter().copied())
            .map(|(name, port)| {
                let host = self.host_index(name)?;
                if host == user {
                    return Err(invalid(format!("host \"{name}\" cannot ask itself")));
                }
                if port == 0 {
                    return Err(invalid("port 0 is no destination"));
                }
                let (mac, address) = (self.hosts[host].mac, self.hosts[host].address);
                Ok(Server {
                    host: host as u32,
                    mac,
                    address,
                    port,
                })
            });
        let servers = places.collect::<Result<Vec<Server>, WorldError>>()?;
        let mut draft = self.draft(PROTOCOL_TCP, flow, options.times)?;
        let own = self.hosts[user].applications;
        let random = Random::stream(self.seed, "pages", flow.source, own.into());
        let config = PagesConfig {
            tcp,
            servers,
            content: options.content,
            connections: options.connections,
            request,
            start: draft.start,
            stop: draft.stop,
        };
        let pages = Pages::new(config, random, &mut draft.common);
        Ok(self.begin(draft.common, Traffic::Pages(Box::new(pages))))
    }
}
