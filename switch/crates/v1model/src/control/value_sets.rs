// SPDX-License-Identifier: Apache-2.0
//! Parser value sets.

use super::unknown;
use crate::error::ControlError;
use crate::pipeline::Pipeline;
use crate::schema::*;

impl Pipeline {
    /// Replaces the members of a value set: for each, one match for each
    /// field. Every kind of [`Match`] is taken, because BMv2's JSON does not
    /// say which kinds the P4 source declares; P4Info does.
    ///
    /// # Errors
    /// No such value set, too many members, or a member that does not fit.
    pub fn set_value_set(
        &mut self,
        set: ValueSetId,
        members: &[Vec<Match>],
    ) -> Result<(), ControlError> {
        let schema = self.program.value_sets.get(set.0 as usize);
        let schema = schema.ok_or_else(|| unknown("value set", set.0))?;
        self.state.value_sets[set.0 as usize].set(schema, members)
    }

    /// The members of a value set, as they were written.
    ///
    /// # Errors
    /// There is no such value set.
    pub fn value_set(&self, set: ValueSetId) -> Result<Vec<Vec<Match>>, ControlError> {
        let found = self.state.value_sets.get(set.0 as usize);
        let found = found.ok_or_else(|| unknown("value set", set.0))?;
        Ok(found.members().to_vec())
    }
}
