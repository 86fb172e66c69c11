// SPDX-License-Identifier: Apache-2.0
//! Web users are added.

use super::World;
use super::tcp_traffic::{TcpOptions, checked_bytes, config};
use super::traffic::{Flow, Times};
use crate::application::{Kind as Traffic, MOST_VARIATION, Pages, PagesConfig, Server};
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

/// A web user to add.
#[derive(Clone, Debug)]
pub struct PagesOptions<'a> {
    /// When the first page begins, and when everything ends.
    pub times: Times,
    /// More servers than the flow's destination: hosts and ports. Objects are on all of them in
    /// turns.
    pub more_servers: Vec<(&'a str, u16)>,
    /// Bytes of a page, the HTML included.
    pub page: u64,
    /// Bytes of the HTML, which is on the flow's destination.
    pub html: u64,
    /// Objects of a page.
    pub objects: u32,
    /// Coefficient of variation of their log-normally distributed sizes, thousandths.
    pub variation: u32,
    /// Connections to one server at once; each has one object.
    pub connections: u16,
    /// From the end of a page to the start of the next, nanoseconds.
    pub pause: u64,
    /// Bytes of a request.
    pub request: u64,
    /// How TCP works.
    pub tcp: TcpOptions,
}

fn checked(options: &PagesOptions<'_>) -> Result<(), WorldError> {
    let objects = options.objects;
    if objects > MOST_OBJECTS {
        return Err(invalid(format!(
            "a page has {MOST_OBJECTS} objects at most, not {objects}"
        )));
    }
    if options.html == 0 || options.page > MOST_PAGE {
        return Err(invalid(format!(
            "a page has {MOST_PAGE} bytes at most and its HTML one at least, not {} and {}",
            options.page, options.html
        )));
    }
    if options.page < options.html.saturating_add(objects.into())
        || (objects == 0 && options.page != options.html)
    {
        return Err(invalid(format!(
            "a page of {} bytes is not an HTML file of {} and {objects} objects of a byte at least",
            options.page, options.html
        )));
    }
    if options.variation > MOST_VARIATION {
        return Err(invalid(format!(
            "sizes of objects have a coefficient of variation of {} at most",
            MOST_VARIATION / 1000
        )));
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
    if options.pause > MOST_PAUSE {
        return Err(invalid(format!(
            "a pause between pages is an hour at most, not {} ns",
            options.pause
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
            page: options.page,
            html: options.html,
            objects: options.objects as usize,
            variation: options.variation,
            connections: options.connections,
            pause: options.pause,
            request,
            start: draft.start,
            stop: draft.stop,
        };
        let pages = Pages::new(config, random, &mut draft.common);
        Ok(self.begin(draft.common, Traffic::Pages(Box::new(pages))))
    }
}
