// SPDX-License-Identifier: Apache-2.0
//! Multicast groups of the packet replication engine (P4Runtime 1.5, section 9.5).

use crate::error::ControlError;
use std::collections::BTreeMap;

/// One copy that a multicast group makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Replica {
    /// P4Runtime's `instance`, the copy's `egress_rid`.
    pub instance: u16,
    /// The copy's egress port.
    pub port: u16,
}

/// The multicast groups of a device. Group 0 means "no multicast" in v1model
/// and does not exist.
#[derive(Clone, Debug, Default)]
pub struct MulticastGroups {
    groups: BTreeMap<u32, Vec<Replica>>,
}

impl MulticastGroups {
    /// Adds a group.
    ///
    /// # Errors
    /// The group exists, is 0 or above 65535, or lists a replica twice.
    pub fn insert(&mut self, group: u32, replicas: &[Replica]) -> Result<(), ControlError> {
        let replicas = Self::checked(group, replicas)?;
        if self.groups.contains_key(&group) {
            return Err(ControlError::GroupExists { group });
        }
        self.groups.insert(group, replicas);
        Ok(())
    }

    /// Replaces a group's replicas.
    ///
    /// # Errors
    /// The group does not exist, or lists a replica twice.
    pub fn modify(&mut self, group: u32, replicas: &[Replica]) -> Result<(), ControlError> {
        let replicas = Self::checked(group, replicas)?;
        match self.groups.get_mut(&group) {
            Some(old) => {
                *old = replicas;
                Ok(())
            }
            None => Err(Self::unknown(group)),
        }
    }

    /// Removes a group.
    ///
    /// # Errors
    /// The group does not exist.
    pub fn delete(&mut self, group: u32) -> Result<(), ControlError> {
        self.groups
            .remove(&group)
            .map(|_| ())
            .ok_or_else(|| Self::unknown(group))
    }

    /// The replicas of a group in replication order (BMv2's: instance, then
    /// port); empty when there is no such group.
    pub fn replicas(&self, group: u32) -> &[Replica] {
        self.groups.get(&group).map_or(&[], Vec::as_slice)
    }

    /// Whether the group exists.
    pub fn contains(&self, group: u32) -> bool {
        self.groups.contains_key(&group)
    }

    /// All groups, by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[Replica])> {
        self.groups
            .iter()
            .map(|(id, replicas)| (*id, replicas.as_slice()))
    }

    /// Removes all groups.
    pub fn clear(&mut self) {
        self.groups.clear();
    }

    fn unknown(group: u32) -> ControlError {
        ControlError::UnknownObject {
            what: format!("multicast group {group}"),
        }
    }

    fn checked(group: u32, replicas: &[Replica]) -> Result<Vec<Replica>, ControlError> {
        if group == 0 || group > 0xffff {
            return Err(ControlError::InvalidGroup {
                reason: format!("multicast group {group} is not within 1 to 65535"),
            });
        }
        let mut sorted = replicas.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ControlError::InvalidGroup {
                reason: format!(
                    "multicast group {group} lists port {} instance {} twice",
                    twice[0].port, twice[0].instance
                ),
            });
        }
        Ok(sorted)
    }
}
