// SPDX-License-Identifier: Apache-2.0
//! Actions with their arguments as rows of words: what packets read, close
//! together and without a pointer to follow.

use crate::error::ControlError;
use crate::schema::{ActionCall, ActionId, ActionSchema, ParamSchema};

/// Rows of one word for the action (an index into a list of actions in the
/// lower 16 bits, the number of argument words above), and behind it the words
/// of the arguments, as many of each as its parameter has.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    words: Vec<u64>,
    stride: usize,
    /// The words of each parameter, for each action of the list.
    params: Vec<Box<[usize]>>,
}

impl Calls {
    /// No rows yet, for calls of these actions.
    pub fn new(own: &[ActionId], actions: &[ActionSchema]) -> Self {
        let params = |id: &ActionId| match actions.get(id.0 as usize) {
            Some(action) => action.params.iter().map(ParamSchema::words).collect(),
            None => Box::default(),
        };
        let params: Vec<Box<[usize]>> = own.iter().map(params).collect();
        let most: Option<usize> = params.iter().map(|words| words.iter().sum()).max();
        Calls {
            words: Vec::new(),
            stride: 1 + most.unwrap_or(0),
            params,
        }
    }

    /// The memory that a row takes, bytes.
    pub fn row_bytes(&self) -> usize {
        self.stride * size_of::<u64>()
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
        let row = &mut self.words[first..first + self.stride];
        let params = self.params.get(usize::from(action));
        let mut count = 0;
        for (arg, words) in args.iter().zip(params.into_iter().flatten()) {
            for word in 0..*words {
                count += 1;
                row[count] = (*arg >> (64 * word)) as u64;
            }
        }
        row[0] = u64::from(action) | (count as u64) << 16;
    }

    /// A row as it was written; `own` is the list that the index is into.
    pub fn read(&self, own: &[ActionId], row: u32) -> ActionCall {
        let (action, mut left) = self.get(row);
        let params = self.params.get(usize::from(action));
        let arg = |words: &usize| {
            let (arg, others) = left.split_at_checked(*words)?;
            left = others;
            let high_first = arg.iter().rev();
            Some(high_first.fold(0, |value, word| value << 64 | u128::from(*word)))
        };
        ActionCall {
            action: own.get(usize::from(action)).copied().unwrap_or(ActionId(0)),
            args: params.into_iter().flatten().map_while(arg).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_words_of_its_parameters_and_is_read_as_it_was_written() {
        let param = |width| ParamSchema {
            name: "p".to_owned(),
            width,
        };
        let action = |widths: &[u16]| ActionSchema {
            name: "a".to_owned(),
            params: widths.iter().map(|width| param(*width)).collect(),
        };
        let actions = [action(&[]), action(&[9, 128, 64]), action(&[65])];
        let own = [ActionId(2), ActionId(1), ActionId(0)];
        let mut calls = Calls::new(&own, &actions);
        let wide = 0x1_0000_0000_0000_0000_u128;
        let rows = [
            (1, vec![511, u128::MAX - 5, u128::from(u64::MAX)], 4),
            (0, vec![wide], 2),
            (2, vec![], 0),
            // None of the list's: without arguments.
            (3, vec![], 0),
        ];
        for (row, (action, args, words)) in rows.iter().enumerate() {
            calls.set(row as u32, *action, args);
            let (found, found_args) = calls.get(row as u32);
            assert_eq!((found, found_args.len()), (*action, *words));
        }
        for (row, (action, args, _)) in rows.iter().enumerate().take(3) {
            let call = calls.read(&own, row as u32);
            assert_eq!((call.action, &call.args), (own[usize::from(*action)], args));
        }
        // Another action over it.
        calls.set(0, 0, &[wide + 3]);
        assert_eq!(calls.get(0), (0, &[3, 1][..]));
    }
}
