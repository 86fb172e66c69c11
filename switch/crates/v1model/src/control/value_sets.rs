// SPDX-License-Identifier: Apache-2.0
//! Parser value sets.

use super::{unknown, unsupported};
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
        let _ = (self.value_set_schema(set)?, members);
        Err(unsupported("parser value sets"))
    }

    /// The members of a value set, as they were written.
    ///
    /// # Errors
    /// There is no such value set.
    pub fn value_set(&self, set: ValueSetId) -> Result<Vec<Vec<Match>>, ControlError> {
        self.value_set_schema(set)?;
        Ok(Vec::new())
    }

    fn value_set_schema(&self, set: ValueSetId) -> Result<&ValueSetSchema, ControlError> {
        let schema = self.program.value_sets.get(set.0 as usize);
        schema.ok_or_else(|| unknown("value set", set.0))
    }
}
