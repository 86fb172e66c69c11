// SPDX-License-Identifier: Apache-2.0
//! A frame that has left its queue and is not completely sent yet.

use crate::queue::Frame;

#[derive(Debug, Clone)]
pub(crate) struct Staged<I> {
    pub frame: Frame<I>,
    /// MAC bytes that are still to be sent.
    pub left: u64,
    /// Part of it was sent.
    pub cut: bool,
}

impl<I> Staged<I> {
    pub fn new(frame: Frame<I>, mac_bytes: u64) -> Self {
        Self {
            frame,
            left: mac_bytes,
            cut: false,
        }
    }
}
