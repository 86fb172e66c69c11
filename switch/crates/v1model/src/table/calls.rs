// SPDX-License-Identifier: Apache-2.0
//! Actions with their arguments as rows of words: what packets read, close
//! together and without a pointer to follow.

use crate::error::ControlError;
use crate::schema::{ActionCall, ActionId, ActionSchema};

/// Rows of one word for the action (an index into a list of actions in the
/// lower 16 bits, the number of argument words above), and two words for each
/// argument, so that they are found without a schema.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    words: Vec<u64>,
    stride: usize,
}

impl Calls {
    /// No rows yet, for calls of these actions.
    pub fn new(own: &[ActionId], actions: &[ActionSchema]) -> Self {
        let params = |id: &ActionId| actions.get(id.0 as usize).map_or(0, |a| a.params.len());
        let most = own.iter().map(params).max().unwrap_or(0);
        Calls {
            words: Vec::new(),
            stride: 1 + 2 * most,
        }
    }

    /// Takes room for so many rows.
    pub fn reserve(&mut self, rows: usize) {
        super::reserve(&mut self.words, rows.saturating_mul(self.stride));
    }

    /// Index of the action, and the arguments.
    #[inline(always)]
    pub fn get(&self, row: u32) -> (u16, &[u64]) {
        let first = row as usize * self.stride;
        let head = self.words[first];
        let count = (head >> 16) as usize;
        (head as u16, &self.words[first + 1..first + 1 + count])
    }

    /// Writes a row; rows before it that were never written do nothing sensible.
    pub fn set(&mut self, row: u32, action: u16, args: &[u128]) {
        let first = row as usize * self.stride;
        if self.words.len() < first + self.stride {
            self.words.resize(first + self.stride, 0);
        }
        let words = &mut self.words[first..first + self.stride];
        words[0] = u64::from(action) | (2 * args.len() as u64) << 16;
        for (pair, arg) in words[1..].chunks_exact_mut(2).zip(args) {
            pair[0] = *arg as u64;
            pair[1] = (*arg >> 64) as u64;
        }
    }

    /// A row as it was written; `own` is the list that the index is into.
    pub fn read(&self, own: &[ActionId], row: u32) -> ActionCall {
        let (action, args) = self.get(row);
        let args = args.chunks_exact(2);
        ActionCall {
            action: own.get(usize::from(action)).copied().unwrap_or(ActionId(0)),
            args: args
                .map(|w| u128::from(w[0]) | u128::from(w[1]) << 64)
                .collect(),
        }
    }
}

/// Why arguments were refused.
pub(crate) enum BadCall {
    /// There are too many, or too few.
    Count(String),
    /// One does not fit its parameter.
    Wide(ControlError),
}

/// Refuses arguments that do not fit the action's parameters.
pub(crate) fn check_args(action: &ActionSchema, args: &[u128]) -> Result<(), BadCall> {
    if action.params.len() != args.len() {
        return Err(BadCall::Count(format!(
            "the action {} has {} parameters, not {}",
            action.name,
            action.params.len(),
            args.len()
        )));
    }
    for (param, arg) in action.params.iter().zip(args) {
        super::key::check_width(*arg, param.width, || {
            format!("parameter {} of action {}", param.name, action.name)
        })
        .map_err(BadCall::Wide)?;
    }
    Ok(())
}
