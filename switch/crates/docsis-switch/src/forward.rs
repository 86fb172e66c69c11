// SPDX-License-Identifier: Apache-2.0
//! A bare forwarder between two interfaces: the same sockets, batches and
//! scheduling as the switch, and nothing in between. No switch over AF_PACKET
//! can be faster.

use crate::device_thread::NICE;
use crate::logging;
use crate::outbox::Outbox;
use crate::packet_socket::{PacketSocket, ReceiveBatch};
use crate::port::{BATCH, Inbox, Port, Received};
use crate::ports::{self, Opening};
use crate::scheduling;
use crate::wait::{PollSet, Signals};
use std::io::Write;
use std::os::fd::AsRawFd;
use tracing::warn;

fn pass(
    from: &mut PacketSocket,
    to: &mut PacketSocket,
    batch: &mut ReceiveBatch,
    out: &mut Outbox,
) {
    let Ok(count) = from.receive(batch, 0..BATCH) else {
        return;
    };
    for n in 0..count {
        if let Received::Frame { bytes, .. } = batch.frame(n) {
            out.push(bytes);
        }
    }
    if !out.is_empty() {
        out.flush(to, false, |_, _| ());
    }
}

/// Forwards until SIGTERM or SIGINT.
///
/// # Errors
/// One sentence: an interface cannot be opened.
pub fn run(first: &str, second: &str) -> Result<(), String> {
    // Before any thread is started, so that all of them leave signals to this one.
    let signals =
        Signals::block().map_err(|error| format!("signals cannot be received: {error}"))?;
    logging::start(None, None, false)?;
    let how = Opening::default();
    let mut first = ports::open(first, how)?;
    let mut second = ports::open(second, how)?;
    let mut poll = PollSet::of([first.as_raw_fd(), second.as_raw_fd(), signals.as_raw_fd()]);
    let (mut batch, mut out) = (ReceiveBatch::new(BATCH), Outbox::default());
    scheduling::exact_timers();
    if let Err(error) = scheduling::nice(NICE) {
        warn!("no nice {NICE}: {error}");
    }
    println!("docsis-switch forward: ready");
    let _ = std::io::stdout().flush();
    loop {
        poll.wait(None);
        if poll.is_ready(2) {
            return Ok(());
        }
        if poll.is_ready(0) {
            pass(&mut first, &mut second, &mut batch, &mut out);
        }
        if poll.is_ready(1) {
            pass(&mut second, &mut first, &mut batch, &mut out);
        }
    }
}
