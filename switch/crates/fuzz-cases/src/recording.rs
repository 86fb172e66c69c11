// SPDX-License-Identifier: Apache-2.0
//! The fuzz target of recordings of a device, whole and damaged.

use ::recording::{Reader, replay};

/// Replays a file as `docsis-switch replay` does.
pub fn recording(data: &[u8]) {
    if let Ok((header, mut reader)) = Reader::new(data) {
        // Both a report and a sentence are valid answers.
        let _ = replay(&header, &mut reader);
    }
}
