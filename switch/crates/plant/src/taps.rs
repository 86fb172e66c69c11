// SPDX-License-Identifier: Apache-2.0
//! Captures of a plant's channels.

use std::cell::RefCell;
use std::io;

use crate::channel_capture::{CaptureFile, Captured, ChannelCapture};
use crate::run::Plant;

impl Plant {
    /// Writes what crosses a channel into a file from now on: MAPs when they are sent, requests when
    /// they are heard, bursts when their last byte has arrived. A channel that is not there yet is
    /// written from when it comes, and one that is replaced by another of its name goes on in the
    /// same file. It changes nothing else.
    ///
    /// # Errors
    /// Its frames are captured already; one sentence.
    pub fn capture(&mut self, channel: &str, file: CaptureFile) -> Result<(), String> {
        let mut there = self.channels.iter().filter(|one| one.capture.is_some());
        if self.captures.contains_key(channel) || there.any(|one| one.name == channel) {
            return Err(format!("channel \"{channel}\" is captured already"));
        }
        self.captures.insert(channel.to_owned(), file);
        self.attach_captures();
        Ok(())
    }

    /// Has channels that are there write into their files.
    pub(crate) fn attach_captures(&mut self) {
        for one in &mut self.channels {
            if let Some(file) = self.captures.remove(&one.name) {
                let profile = one.channel.profile().clone();
                let flows = one.channel.scheduler().flows();
                let capture = ChannelCapture::new(profile, flows, file);
                one.capture = Some(RefCell::new(capture));
            }
        }
    }

    /// Ends all captures; what became of each, by the channel's name.
    pub fn end_captures(&mut self) -> Vec<(String, io::Result<Captured>)> {
        for one in &mut self.channels {
            if let Some(capture) = one.capture.take() {
                let file = capture.into_inner().into_file();
                self.captures.insert(one.name.clone(), file);
            }
        }
        let captures = std::mem::take(&mut self.captures).into_iter();
        captures.map(|(name, file)| (name, file.end())).collect()
    }
}
