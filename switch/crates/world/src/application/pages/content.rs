// SPDX-License-Identifier: Apache-2.0
//! The contents of a user's pages, and how long the user looks at them.

use super::page::Page;
use super::sizes::Sizes;
use crate::pareto::Pareto;
use crate::random::Random;

/// Bytes of an object: TCP counts no more.
const MOST_BYTES: u64 = 1 << 50;

/// How pages are made.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// An HTML file that names objects, which a browser fetches at once (000, section 4.3).
    Named(Named),
    /// Objects that are asked for one by one, as time goes by (004, figure 6).
    Timed(Timed),
}

/// Pages of one size.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Bytes of a page, the HTML included.
    pub page: u64,
    /// Bytes of the HTML, which is on the first server.
    pub html: u64,
    /// Objects of a page.
    pub objects: u32,
    /// Coefficient of variation of their log-normally distributed sizes, thousandths.
    pub variation: u32,
    /// From the end of a page to the start of the next, nanoseconds.
    pub pause: u64,
}

/// Pages of objects of which nobody knows how large they will be. All is Pareto distributed.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Objects of a page, thousandths.
    pub objects: Pareto,
    /// From the request for one to that for the next, nanoseconds.
    pub gap: Pareto,
    /// Segments of an object, thousandths.
    pub segments: Pareto,
    /// Bytes of a segment.
    pub segment: u64,
    /// From the end of a page to the start of the next, nanoseconds.
    pub pause: Pareto,
}

/// An object that the user asks for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Bytes.
    pub size: u64,
    /// Nanoseconds until the next one.
    pub gap: u64,
}

/// Makes pages. What it draws depends on its own randomness alone: what is slow changes none of it.
#[derive(Clone, Debug)]
pub struct Pages {
    content: Content,
    sizes: Sizes,
    random: Random,
}

impl Pages {
    /// No page yet.
    #[must_use]
    pub fn new(content: Content, random: Random) -> Self {
        let variation = match content {
            Content::Named(named) => named.variation,
            Content::Timed(_) => 0,
        };
        Self {
            content,
            sizes: Sizes::new(variation, random.clone()),
            random,
        }
    }

    /// The next page.
    pub fn next(&mut self, servers: usize, connections: u16) -> Page {
        match self.content {
            Content::Named(named) => {
                let bytes = named.page - named.html;
                let objects = self.sizes.draw(named.objects as usize, bytes);
                Page::new(named.html, objects, servers, connections)
            }
            Content::Timed(timed) => {
                // A page of nothing is none.
                let objects = timed.objects.whole(&mut self.random).max(1);
                Page::timed(objects, servers, connections)
            }
        }
    }

    /// The next object of a page whose objects come as time goes by; `None` of other pages.
    pub fn object(&mut self) -> Option<Object> {
        let Content::Timed(timed) = self.content else {
            return None;
        };
        let segments = timed.segments.whole(&mut self.random).max(1);
        Some(Object {
            size: segments.saturating_mul(timed.segment).min(MOST_BYTES),
            gap: timed.gap.draw(&mut self.random),
        })
    }

    /// How long the user looks at the page that is there, nanoseconds.
    pub fn pause(&mut self) -> u64 {
        match self.content {
            Content::Named(named) => named.pause,
            Content::Timed(timed) => timed.pause.draw(&mut self.random),
        }
    }
}
