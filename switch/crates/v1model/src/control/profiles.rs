// SPDX-License-Identifier: Apache-2.0
//! Action profiles and selectors: members, groups, ports that are watched.

use super::{unknown, unsupported};
use crate::error::ControlError;
use crate::pipeline::Pipeline;
use crate::schema::*;

impl Pipeline {
    /// Adds a member.
    ///
    /// # Errors
    /// The id is taken, the profile is full, or the action does not fit.
    pub fn insert_member(
        &mut self,
        profile: ActionProfileId,
        id: u32,
        call: &ActionCall,
    ) -> Result<(), ControlError> {
        let _ = (self.profile_schema(profile)?, id, call);
        Err(unsupported("action profile members"))
    }

    /// Replaces a member's action, for all entries and groups that have it.
    ///
    /// # Errors
    /// There is no such member, or the action does not fit.
    pub fn modify_member(
        &mut self,
        profile: ActionProfileId,
        id: u32,
        call: &ActionCall,
    ) -> Result<(), ControlError> {
        let _ = (self.profile_schema(profile)?, id, call);
        Err(unsupported("action profile members"))
    }

    /// Removes a member.
    ///
    /// # Errors
    /// There is no such member, or an entry or a group has it.
    pub fn delete_member(&mut self, profile: ActionProfileId, id: u32) -> Result<(), ControlError> {
        let _ = (self.profile_schema(profile)?, id);
        Err(unsupported("action profile members"))
    }

    /// The members, without those of one-shots, by ascending id.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn members(&self, profile: ActionProfileId) -> Result<Vec<Member>, ControlError> {
        self.profile_schema(profile)?;
        Ok(Vec::new())
    }

    /// Adds a group.
    ///
    /// # Errors
    /// The profile has no selector, the id is taken, a member does not exist
    /// or is listed twice, a weight is 0, or there is no room.
    pub fn insert_group(
        &mut self,
        profile: ActionProfileId,
        group: &Group,
    ) -> Result<(), ControlError> {
        let _ = (self.profile_schema(profile)?, group);
        Err(unsupported("action selector groups"))
    }

    /// Replaces a group's members; its `max_size` must be the one that it was
    /// inserted with, or 0, which leaves it.
    ///
    /// # Errors
    /// There is no such group, or as for [`Pipeline::insert_group`].
    pub fn modify_group(
        &mut self,
        profile: ActionProfileId,
        group: &Group,
    ) -> Result<(), ControlError> {
        let _ = (self.profile_schema(profile)?, group);
        Err(unsupported("action selector groups"))
    }

    /// Removes a group.
    ///
    /// # Errors
    /// There is no such group, or an entry has it.
    pub fn delete_group(&mut self, profile: ActionProfileId, id: u32) -> Result<(), ControlError> {
        let _ = (self.profile_schema(profile)?, id);
        Err(unsupported("action selector groups"))
    }

    /// The groups, without those of one-shots, by ascending id.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn groups(&self, profile: ActionProfileId) -> Result<Vec<Group>, ControlError> {
        self.profile_schema(profile)?;
        Ok(Vec::new())
    }

    /// Tells selectors whether a port is up; all are until told otherwise.
    /// Members that watch a port which is down are not selected.
    pub fn set_port_up(&mut self, port: u16, up: bool) {
        let _ = (port, up);
    }

    fn profile_schema(
        &self,
        profile: ActionProfileId,
    ) -> Result<&ActionProfileSchema, ControlError> {
        let schema = self.program.action_profiles.get(profile.0 as usize);
        schema.ok_or_else(|| unknown("action profile", profile.0))
    }
}
