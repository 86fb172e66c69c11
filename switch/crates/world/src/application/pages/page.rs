// SPDX-License-Identifier: Apache-2.0
//! Knows which objects of a page to fetch next, and from which server: the browser's rules.

use std::collections::VecDeque;

/// One server's part of a page.
#[derive(Clone, Debug, Default)]
struct Part {
    /// Sizes of the objects that nobody has asked for.
    waiting: VecDeque<u64>,
    /// Those that are asked for and not complete.
    open: u16,
}

/// A page that is being loaded. First comes the HTML, alone, from the first server; then the
/// objects that it names, on as many connections to each server as are allowed.
#[derive(Clone, Debug)]
pub struct Page {
    html: Option<u64>,
    /// The sizes of objects that the HTML names, until that is complete.
    named: Vec<u64>,
    parts: Vec<Part>,
    connections: u16,
    /// Objects that the user will ask for later.
    to_come: u64,
    /// Objects that the user has asked for, of those that come as time goes by.
    asked: u64,
}

impl Page {
    /// Makes a page of an HTML file's size and its objects' sizes, which are on the servers in
    /// turns.
    #[must_use]
    pub fn new(html: u64, objects: Vec<u64>, servers: usize, connections: u16) -> Self {
        Self {
            html: Some(html),
            named: objects,
            parts: vec![Part::default(); servers.max(1)],
            connections: connections.max(1),
            to_come: 0,
            asked: 0,
        }
    }

    /// Makes a page of so many objects, which the user asks for as time goes by: see [`Self::ask`].
    #[must_use]
    pub fn timed(objects: u64, servers: usize, connections: u16) -> Self {
        Self {
            html: None,
            to_come: objects,
            ..Self::new(0, Vec::new(), servers, connections)
        }
    }

    /// The user asks for another object, of the servers in turns; whether there are more to come.
    pub fn ask(&mut self, size: u64) -> bool {
        if self.to_come == 0 {
            return false;
        }
        self.to_come -= 1;
        let servers = self.parts.len() as u64;
        self.parts[(self.asked % servers) as usize]
            .waiting
            .push_back(size);
        self.asked += 1;
        self.to_come > 0
    }

    /// The next object to ask a server for on a connection of its own, by its size, if there is one
    /// now.
    pub fn next(&mut self, server: usize) -> Option<u64> {
        let first = server == 0;
        let part = self.parts.get_mut(server)?;
        if part.open >= self.connections {
            return None;
        }
        let html = first.then(|| self.html.take()).flatten();
        let size = html.or_else(|| part.waiting.pop_front())?;
        part.open += 1;
        Some(size)
    }

    /// A server's object has come. The first one is the HTML.
    pub fn complete(&mut self, server: usize) {
        if let Some(part) = self.parts.get_mut(server) {
            part.open = part.open.saturating_sub(1);
        }
        let servers = self.parts.len();
        for (number, size) in std::mem::take(&mut self.named).into_iter().enumerate() {
            self.parts[number % servers].waiting.push_back(size);
        }
    }

    /// A connection was lost: its object is still to be fetched.
    pub fn failed(&mut self, server: usize, size: u64) {
        if let Some(part) = self.parts.get_mut(server) {
            part.open = part.open.saturating_sub(1);
            part.waiting.push_front(size);
        }
    }

    /// Whether a server has something that could be asked for now.
    #[must_use]
    pub fn is_wanted(&self, server: usize) -> bool {
        self.parts.get(server).is_some_and(|part| {
            let html = server == 0 && self.html.is_some();
            part.open < self.connections && (html || !part.waiting.is_empty())
        })
    }

    /// Whether all of it is there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.html.is_none()
            && self.to_come == 0
            && self.named.is_empty()
            && self
                .parts
                .iter()
                .all(|part| part.open == 0 && part.waiting.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_page_whose_objects_come_later_is_complete_with_the_last_of_them() {
        let mut page = Page::timed(3, 2, 1);
        assert!(!page.is_complete() && !page.is_wanted(0));
        assert!(page.ask(10) && page.ask(20));
        // In turns, and one connection to a server at once.
        assert_eq!((page.next(0), page.next(1)), (Some(10), Some(20)));
        assert!(!page.ask(30) && !page.is_wanted(0));
        page.complete(1);
        assert!(!page.is_complete());
        page.complete(0);
        assert_eq!(page.next(0), Some(30));
        page.failed(0, 30);
        assert_eq!(page.next(0), Some(30));
        page.complete(0);
        assert!(page.is_complete() && !page.ask(40));
    }

    proptest! {
        /// Whatever comes when, and however often a connection is lost: the HTML is alone, no server
        /// ever has more connections than allowed, and each object comes once, from its server.
        #[test]
        fn a_browser_keeps_to_its_rules(
            objects in prop::collection::vec(1..1_000_000_u64, 0..60),
            servers in 1..6_usize,
            connections in 1..8_u16,
            choices in prop::collection::vec((0..100_usize, 0..8_u8), 2000),
        ) {
            let html = 70_000;
            let mut page = Page::new(html, objects.clone(), servers, connections);
            let mut open: Vec<(usize, u64)> = Vec::new();
            let mut came: Vec<Vec<u64>> = vec![Vec::new(); servers];
            let mut choices = choices.into_iter();
            let mut first = true;
            loop {
                for server in 0..servers {
                    while page.is_wanted(server) {
                        let size = page.next(server).unwrap();
                        open.push((server, size));
                    }
                    prop_assert_eq!(page.next(server), None);
                    let now = open.iter().filter(|one| one.0 == server).count();
                    prop_assert!(now <= usize::from(connections));
                }
                if first {
                    prop_assert_eq!(&open[..], &[(0, html)][..]);
                }
                if open.is_empty() {
                    break;
                }
                prop_assert!(!page.is_complete());
                let (which, luck) = choices.next().unwrap_or((0, 1));
                let (server, size) = open.remove(which % open.len());
                if luck == 0 {
                    page.failed(server, size);
                } else {
                    page.complete(server);
                    came[server].push(size);
                    if std::mem::take(&mut first) {
                        prop_assert_eq!(came[0].pop(), Some(html));
                    }
                }
            }
            prop_assert!(page.is_complete());
            for (server, sizes) in came.iter_mut().enumerate() {
                let mut named: Vec<u64> = objects.iter().skip(server).step_by(servers).copied().collect();
                named.sort_unstable();
                sizes.sort_unstable();
                prop_assert_eq!(&*sizes, &named);
            }
        }
    }
}
