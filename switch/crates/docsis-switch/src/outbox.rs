// SPDX-License-Identifier: Apache-2.0
//! Frames that go out through one port with one call.

use crate::port::{BATCH, Port};
use std::io;

/// Frames to one port that wait to be sent together.
pub struct Outbox {
    /// Buffers that are used again and again; the first `count` wait.
    frames: Box<[Vec<u8>]>,
    count: usize,
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            frames: vec![Vec::new(); BATCH].into_boxed_slice(),
            count: 0,
        }
    }
}

impl Outbox {
    /// Frames that wait to be sent.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True when there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// True when [`Outbox::push`] must wait for [`Outbox::flush`].
    pub fn is_full(&self) -> bool {
        self.count == BATCH
    }

    /// Adds a frame; the outbox is not full.
    pub fn push(&mut self, frame: &[u8]) {
        let buffer = &mut self.frames[self.count];
        buffer.clear();
        buffer.extend_from_slice(frame);
        self.count += 1;
    }

    /// Adds a frame by taking its buffer, and leaves another; the outbox is not full.
    pub fn push_buffer(&mut self, frame: &mut Vec<u8>) {
        std::mem::swap(&mut self.frames[self.count], frame);
        self.count += 1;
    }

    /// Sends everything; `failed` gets the length of each frame that the
    /// port did not take, and why. With `wait`, frames for which there is
    /// no room yet stay, and the result is true.
    pub fn flush<P: Port>(
        &mut self,
        port: &mut P,
        wait: bool,
        mut failed: impl FnMut(usize, &io::Error),
    ) -> bool {
        let count = std::mem::take(&mut self.count);
        let mut next = 0;
        while next < count {
            let error = match port.send(&mut self.frames[next..count]) {
                Ok(sent) => {
                    next += sent;
                    continue;
                }
                Err(error) => error,
            };
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock if wait => {
                    self.frames[..count].rotate_left(next);
                    self.count = count - next;
                    return true;
                }
                _ => {
                    failed(self.frames[next].len(), &error);
                    next += 1;
                }
            }
        }
        false
    }
}
