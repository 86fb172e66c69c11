// SPDX-License-Identifier: Apache-2.0
//! Recordings of a device, whole and damaged.

use ::recording::{Reader, replay};

/// A file, as `docsis-switch replay` has it.
pub fn recording(data: &[u8]) {
    if let Ok((header, mut reader)) = Reader::new(data) {
        // A report or a sentence, both are answers.
        let _ = replay(&header, &mut reader);
    }
}
