// SPDX-License-Identifier: Apache-2.0
//! The packet replication engine: multicast groups and clone sessions
//! (P4Runtime 1.5, section 9.5).

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

/// The memory that a group or session takes besides its replicas, bytes.
const GROUP: usize = 128;

/// The multicast groups of a device. Group 0 means "no multicast" in v1model
/// and does not exist.
#[derive(Clone, Debug, Default)]
pub struct MulticastGroups {
    groups: BTreeMap<u32, Vec<Replica>>,
    /// How many replicas all groups have.
    replicas: usize,
}

impl MulticastGroups {
    /// The memory that the groups take, bytes; see [`crate::Pipeline::kept_bytes`].
    pub fn kept_bytes(&self) -> usize {
        self.groups.len() * GROUP + self.replicas * size_of::<Replica>()
    }

    /// Adds a group.
    ///
    /// # Errors
    /// The group exists, is 0 or above 65535, or lists a replica twice.
    pub fn insert(&mut self, group: u32, replicas: &[Replica]) -> Result<(), ControlError> {
        let replicas = Self::checked(group, replicas)?;
        if self.groups.contains_key(&group) {
            return Err(ControlError::GroupExists { group });
        }
        self.replicas += replicas.len();
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
                self.replicas = self.replicas + replicas.len() - old.len();
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
        let old = self.groups.remove(&group);
        let old = old.ok_or_else(|| Self::unknown(group))?;
        self.replicas -= old.len();
        Ok(())
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

    /// The groups from an id on, by ascending id.
    pub fn from(&self, first: u32) -> impl Iterator<Item = (u32, &[Replica])> {
        self.groups
            .range(first..)
            .map(|(id, replicas)| (*id, replicas.as_slice()))
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
        in_order(replicas, &|| format!("multicast group {group}"))
    }
}

/// Replicas in BMv2's order: instance, then port.
fn in_order(
    replicas: &[Replica],
    place: &dyn Fn() -> String,
) -> Result<Vec<Replica>, ControlError> {
    let mut sorted = replicas.to_vec();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ControlError::InvalidGroup {
            reason: format!(
                "{} lists port {} instance {} twice",
                place(),
                twice[0].port,
                twice[0].instance
            ),
        });
    }
    Ok(sorted)
}

/// Where the clones of a session go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// One clone for each.
    pub replicas: Vec<Replica>,
    /// P4Runtime's class of service, which no traffic manager here looks at: as
    /// in BMv2 a clone's queue is the one that its metadata says.
    pub class_of_service: u32,
    /// Bytes of the clone that are sent; 0 is all.
    pub packet_length_bytes: u32,
}

/// The highest id of a clone session, BMv2's.
pub const MAX_CLONE_SESSION: u32 = 0x7fff;

/// The clone sessions of a device, by id: 0 to [`MAX_CLONE_SESSION`].
#[derive(Clone, Debug, Default)]
pub struct CloneSessions {
    sessions: BTreeMap<u16, CloneSession>,
    /// How many replicas all sessions have.
    replicas: usize,
}

impl CloneSessions {
    /// The memory that the sessions take, bytes; see [`crate::Pipeline::kept_bytes`].
    pub fn kept_bytes(&self) -> usize {
        self.sessions.len() * GROUP + self.replicas * size_of::<Replica>()
    }

    /// Adds a session.
    ///
    /// # Errors
    /// The session exists, its id is too high, or it lists a replica twice.
    pub fn insert(&mut self, id: u32, session: &CloneSession) -> Result<(), ControlError> {
        let (id, session) = Self::checked(id, session)?;
        if self.sessions.contains_key(&id) {
            return Err(ControlError::ObjectExists {
                what: format!("clone session {id}"),
            });
        }
        self.replicas += session.replicas.len();
        self.sessions.insert(id, session);
        Ok(())
    }

    /// Replaces a session.
    ///
    /// # Errors
    /// The session does not exist, or lists a replica twice.
    pub fn modify(&mut self, id: u32, session: &CloneSession) -> Result<(), ControlError> {
        let (at, session) = Self::checked(id, session)?;
        match self.sessions.get_mut(&at) {
            Some(old) => {
                self.replicas = self.replicas + session.replicas.len() - old.replicas.len();
                *old = session;
                Ok(())
            }
            None => Err(Self::unknown(id)),
        }
    }

    /// Removes a session.
    ///
    /// # Errors
    /// The session does not exist.
    pub fn delete(&mut self, id: u32) -> Result<(), ControlError> {
        let at = u16::try_from(id).ok();
        let old = at.and_then(|at| self.sessions.remove(&at));
        let old = old.ok_or_else(|| Self::unknown(id))?;
        self.replicas -= old.replicas.len();
        Ok(())
    }

    /// A session, its replicas in replication order (BMv2's: instance, then port).
    pub fn get(&self, id: u32) -> Option<&CloneSession> {
        self.sessions.get(&u16::try_from(id).ok()?)
    }

    /// The sessions from an id on, by ascending id.
    pub fn from(&self, first: u32) -> impl Iterator<Item = (u32, &CloneSession)> {
        let first = first.min(u32::from(u16::MAX)) as u16;
        let sessions = self.sessions.range(first..);
        sessions.map(|(id, session)| (u32::from(*id), session))
    }

    fn unknown(id: u32) -> ControlError {
        ControlError::UnknownObject {
            what: format!("clone session {id}"),
        }
    }

    fn checked(id: u32, session: &CloneSession) -> Result<(u16, CloneSession), ControlError> {
        let at = u16::try_from(id)
            .ok()
            .filter(|_| id <= MAX_CLONE_SESSION)
            .ok_or_else(|| ControlError::InvalidGroup {
                reason: format!("clone session {id} is not within 0 to {MAX_CLONE_SESSION}"),
            })?;
        let replicas = in_order(&session.replicas, &|| format!("clone session {id}"))?;
        let session = CloneSession {
            replicas,
            ..*session
        };
        Ok((at, session))
    }
}
