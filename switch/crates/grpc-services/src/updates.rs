// SPDX-License-Identifier: Apache-2.0
//! The updates of a batch, in which updates of consecutive cells are merged into one.

use v1model::RegisterId;

use crate::failure::Failure;
use crate::op::Op;
use crate::register_run::RegisterRun;

/// Appends the update of one cell to a batch.
pub fn push(ops: &mut Vec<Result<Op, Failure>>, op: Op) {
    let goes_on = match (&op, ops.last_mut()) {
        (&Op::Register(register, Some(index), value), Some(Ok(last))) => {
            begin_run(last, register, index);
            match last {
                Op::Run(run) => run.extend(register, index, value),
                _ => false,
            }
        }
        _ => false,
    };
    if !goes_on {
        ops.push(Ok(op));
    }
}

/// Merges an update of a cell with the update before, if that is of the cell in front of it.
fn begin_run(last: &mut Op, register: RegisterId, index: usize) {
    if let Op::Register(before, Some(first), value) = *last
        && before == register
        && first + 1 == index
    {
        *last = Op::Run(Box::new(RegisterRun {
            register,
            first,
            values: vec![value],
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register_run::LONGEST;

    #[test]
    fn cells_in_their_order_are_one_operation_up_to_a_length() {
        let mut ops = Vec::new();
        let mut push = |register, index| {
            let op = Op::Register(RegisterId(register), Some(index), index as u128);
            super::push(&mut ops, op);
        };
        (0..LONGEST + 3).for_each(|index| push(1, index));
        (0..2).for_each(|index| push(2, index));
        // A run goes neither backwards nor over a gap.
        push(2, 1);
        push(2, 3);
        let runs: Vec<_> = ops
            .iter()
            .map(|op| match op {
                Ok(Op::Run(run)) => (run.register.0, run.first, run.values.len()),
                Ok(Op::Register(register, Some(index), _)) => (register.0, *index, 1),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [
            (1, 0, LONGEST),
            (1, LONGEST, 3),
            (2, 0, 2),
            (2, 1, 1),
            (2, 3, 1),
        ];
        assert_eq!(runs, expected);
        let updates: usize = ops.iter().flatten().map(Op::updates).sum();
        assert_eq!(updates, LONGEST + 7);
        let Ok(Op::Run(run)) = &ops[1] else { panic!() };
        assert_eq!(run.values, [1024, 1025, 1026]);
    }
}
