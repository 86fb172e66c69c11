// SPDX-License-Identifier: Apache-2.0
//! Action profiles and selectors: members, groups, ports that are watched.

use super::unknown;
use crate::error::ControlError;
use crate::pipeline::Pipeline;
use crate::program::Program;
use crate::schema::*;
use crate::state::State;
use crate::table::Profile;

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
        let (schema, state) = Self::profile_mut(&self.program, &mut self.state, profile)?;
        state.insert_member(schema, &self.program.actions, id, call)
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
        let (schema, state) = Self::profile_mut(&self.program, &mut self.state, profile)?;
        state.modify_member(schema, &self.program.actions, id, call)
    }

    /// Removes a member.
    ///
    /// # Errors
    /// There is no such member, or an entry or a group has it.
    pub fn delete_member(&mut self, profile: ActionProfileId, id: u32) -> Result<(), ControlError> {
        let (schema, state) = Self::profile_mut(&self.program, &mut self.state, profile)?;
        state.delete_member(schema, id)
    }

    /// The members from an id on, without those of one-shots, by ascending id.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn members(
        &self,
        profile: ActionProfileId,
        from: u32,
    ) -> Result<impl Iterator<Item = Member> + use<'_>, ControlError> {
        let (schema, state) = self.profile(profile)?;
        Ok(state.members(schema, from))
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
        let (schema, state) = Self::profile_mut(&self.program, &mut self.state, profile)?;
        state.insert_group(schema, group)
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
        let (schema, state) = Self::profile_mut(&self.program, &mut self.state, profile)?;
        state.modify_group(schema, group)
    }

    /// Removes a group.
    ///
    /// # Errors
    /// There is no such group, or an entry has it.
    pub fn delete_group(&mut self, profile: ActionProfileId, id: u32) -> Result<(), ControlError> {
        let (schema, state) = Self::profile_mut(&self.program, &mut self.state, profile)?;
        state.delete_group(schema, id)
    }

    /// The groups from an id on, without those of one-shots, by ascending id.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn groups(
        &self,
        profile: ActionProfileId,
        from: u32,
    ) -> Result<impl Iterator<Item = Group> + use<'_>, ControlError> {
        let (_, state) = self.profile(profile)?;
        Ok(state.groups(from))
    }

    /// Tells selectors whether a port is up; all are until told otherwise.
    /// Members that watch a port which is down are not selected.
    pub fn set_port_up(&mut self, port: u16, up: bool) {
        for profile in &mut self.state.profiles {
            profile.set_port_up(port, up);
        }
    }

    fn profile(
        &self,
        id: ActionProfileId,
    ) -> Result<(&ActionProfileSchema, &Profile), ControlError> {
        let at = id.0 as usize;
        match (
            self.program.action_profiles.get(at),
            self.state.profiles.get(at),
        ) {
            (Some(schema), Some(state)) => Ok((schema, state)),
            _ => Err(unknown("action profile", id.0)),
        }
    }

    fn profile_mut<'s>(
        program: &'s Program,
        state: &'s mut State,
        id: ActionProfileId,
    ) -> Result<(&'s ActionProfileSchema, &'s mut Profile), ControlError> {
        let at = id.0 as usize;
        match (program.action_profiles.get(at), state.profiles.get_mut(at)) {
            (Some(schema), Some(state)) => Ok((schema, state)),
            _ => Err(unknown("action profile", id.0)),
        }
    }
}
