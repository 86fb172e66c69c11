// SPDX-License-Identifier: Apache-2.0
//! The devices that a server has.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::failure::Failure;
use crate::target::Target;

/// The devices by device_id.
#[derive(Debug)]
pub struct Targets(pub BTreeMap<u64, Arc<Target>>);

impl Targets {
    /// # Errors
    /// NOT_FOUND.
    pub fn find(&self, device_id: u64) -> Result<&Arc<Target>, Failure> {
        self.0.get(&device_id).ok_or_else(|| {
            let known: Vec<_> = self.0.keys().map(u64::to_string).collect();
            Failure::not_found(format!(
                "there is no device {device_id}, this server has {}",
                known.join(", ")
            ))
        })
    }
}
