// SPDX-License-Identifier: Apache-2.0
//! What the controller asks a device about its digests.

use crate::Device;
use crate::digest::{DigestConfig, Forgotten};
use v1model::DigestId;

impl Device {
    /// Switches a digest on, or changes it; `None` switches it off. All are off
    /// when a program is loaded.
    pub fn configure_digest(
        &mut self,
        digest: DigestId,
        config: Option<DigestConfig>,
    ) -> Forgotten {
        self.digests.configure(digest, config)
    }

    /// How a digest is sent; `None` when it is off.
    #[must_use]
    pub fn digest_config(&self, digest: DigestId) -> Option<DigestConfig> {
        self.digests.config(digest)
    }

    /// The controller has taken a list of digests. False: there is none that
    /// waits for it.
    pub fn ack_digest(&mut self, now: u64, digest: DigestId, list_id: u64) -> bool {
        let _ = now;
        self.digests.ack(digest, list_id)
    }
}
