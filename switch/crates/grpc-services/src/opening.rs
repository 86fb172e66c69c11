// SPDX-License-Identifier: Apache-2.0
//! The beginning of a connection. HTTP/2 waits for ever for a client's first bytes, and pings it only
//! after them, so a client that sends none would keep its place among the connections for good.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// The bytes with which every client of HTTP/2 begins (RFC 9113, section 3.4). Over TLS they may have
/// come together with the end of the handshake. Then the client still acknowledges the server's
/// SETTINGS, which takes more bytes than these once it is encrypted. What is counted there is encrypted,
/// so a client that has got through TLS keeps its place with so many bytes of anything.
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();

/// Whether a connection's client has begun HTTP/2, or how long it may still take.
#[derive(Debug)]
pub struct Opening {
    patience: Duration,
    /// Whether the server waits for HTTP/2. A handshake of TLS has a deadline of its own.
    is_awaited: AtomicBool,
    /// How many bytes are still missing.
    missing: usize,
    /// Set when the server first waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Opening {
    /// A connection whose client may take this long.
    pub fn new(patience: Duration) -> Self {
        Opening {
            patience,
            is_awaited: AtomicBool::new(false),
            missing: PREFACE,
            deadline: None,
        }
    }

    /// From now on the server waits for HTTP/2.
    pub fn begin(&self) {
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    /// So many bytes have come.
    pub fn heard(&mut self, bytes: usize) {
        if *self.is_awaited.get_mut() {
            self.missing = self.missing.saturating_sub(bytes);
        }
        if self.missing == 0 {
            self.deadline = None;
        }
    }

    /// Whether a client of which no bytes are there has taken too long. If not, the task is woken when it has.
    pub fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        if !*self.is_awaited.get_mut() || self.missing == 0 {
            return false;
        }
        let patience = self.patience;
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        matches!(deadline.as_mut().poll(context), Poll::Ready(()))
    }
}
