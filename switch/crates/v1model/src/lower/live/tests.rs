// SPDX-License-Identifier: Apache-2.0
//! Which slots count as read before they are written.

use super::*;

fn table(actions: &[Pc], next: &[(Pc, Pc)]) -> TableCode {
    TableCode {
        keys: Vec::new(),
        actions: actions.to_vec(),
        next: next.to_vec(),
        default: None,
        entries: Vec::new(),
        meter: None,
        profile: None,
    }
}

fn read_before(ops: &[Op], tables: &[TableCode]) -> Vec<usize> {
    let referred = Referred {
        tables,
        ..Referred::default()
    };
    let live = read_first(ops, referred, 0, &[false; 8]);
    (0..8).filter(|slot| live[*slot]).collect()
}

#[test]
fn what_every_path_writes_first_is_not_live() {
    // if 0 { 2 = 1 } else { 2 = 3 }; 4 = 2
    let ops = [
        Op::JumpIfNot { a: 0, to: 3 },
        Op::Mov { d: 2, a: 1 },
        Op::Jump { to: 4 },
        Op::Mov { d: 2, a: 3 },
        Op::Mov { d: 4, a: 2 },
        Op::End,
    ];
    assert_eq!(read_before(&ops, &[]), [0, 1, 3]);
    // Without the else.
    let ops = [
        Op::JumpIfNot { a: 0, to: 2 },
        Op::Mov { d: 2, a: 1 },
        Op::Mov { d: 4, a: 2 },
        Op::End,
    ];
    assert_eq!(read_before(&ops, &[]), [0, 1, 2]);
}

#[test]
fn a_loop_is_followed() {
    // 1 is read in the second round before it is written in it, but written in the first.
    let ops = [
        Op::Mov { d: 1, a: 0 },
        Op::Add {
            d: 1,
            a: 1,
            b: 2,
            w: 8,
        },
        Op::JumpIf { a: 3, to: 1 },
        Op::JumpIf { a: 4, to: 0 },
        Op::End,
    ];
    assert_eq!(read_before(&ops, &[]), [0, 2, 3, 4]);
}

#[test]
fn a_program_that_is_too_large_may_read_all() {
    // Blocks that go back from one to the next take no more rounds than others do.
    let back = |n: Pc| {
        let blocks = (0..n).flat_map(|at| {
            let to = if at == 0 { 2 * n } else { 2 * at - 2 };
            [Op::Mov { d: 1, a: 0 }, Op::Jump { to }]
        });
        let end = [Op::Mov { d: 3, a: 2 }, Op::End];
        blocks.chain(end).collect::<Vec<_>>()
    };
    let live = |ops: &[Op], entry: Pc, slots: usize| {
        read_first(ops, Referred::default(), entry, &vec![false; slots])
    };
    let ops = back(1000);
    assert_eq!(live(&ops, 1998, 4), [true, false, true, false]);
    // Loops that are entered from each other do: here what is read is behind the first.
    let loops = |n: Pc| {
        let loops = (0..n).map(|at| Op::JumpIf {
            a: 0,
            to: if at == 0 { n + 1 } else { at - 1 },
        });
        let end = [Op::Jump { to: n - 1 }, Op::Mov { d: 3, a: 2 }, Op::End];
        loops.chain(end).collect::<Vec<_>>()
    };
    assert_eq!(live(&loops(4), 0, 4), [true, false, true, false]);
    assert_eq!(live(&loops(1000), 0, 4), [true; 4]);
    let most = u16::MAX as usize;
    let long = vec![Op::Mov { d: 1, a: 0 }; BITS / most];
    let long: Vec<Op> = long.into_iter().chain([Op::End]).collect();
    assert_eq!(live(&long, 0, most), vec![true; most]);
    let mut only = vec![false; 64];
    only[0] = true;
    assert_eq!(live(&long, 0, 64), only);
}

#[test]
fn a_table_writes_what_all_its_actions_write() {
    // apply; 4 = 2; 4 = 3. The actions: 2 = 0, 3 = 1; and 2 = 1.
    let ops = [
        Op::Apply { table: 0 },
        Op::Mov { d: 4, a: 2 },
        Op::Mov { d: 4, a: 3 },
        Op::End,
        Op::Mov2Return {
            d: 2,
            a: 0,
            e: 3,
            b: 1,
        },
        Op::MovReturn { d: 2, a: 1 },
    ];
    let next = [(1, 1), (1, 1)];
    assert_eq!(read_before(&ops, &[table(&[4, 5], &next)]), [0, 1, 3]);
    // The second ends the pipeline.
    let next = [(1, 1), (3, 3)];
    assert_eq!(read_before(&ops, &[table(&[4, 5], &next)]), [0, 1]);
}

#[test]
fn an_action_is_followed_by_its_own_table() {
    // Two tables share an action; 2 is written between them and read behind the second.
    let ops = [
        Op::Apply { table: 0 },
        Op::Mov { d: 2, a: 0 },
        Op::Apply { table: 1 },
        Op::Mov { d: 4, a: 2 },
        Op::End,
        Op::Return,
    ];
    let tables = [table(&[5], &[(1, 1)]), table(&[5], &[(3, 3)])];
    assert_eq!(read_before(&ops, &tables), [0]);
}

#[test]
fn a_register_may_have_no_such_cell() {
    let ops = [
        Op::RegisterRead {
            d: 1,
            index: 0,
            register: 0,
            w: 8,
        },
        Op::Mov { d: 2, a: 1 },
        Op::End,
    ];
    assert_eq!(read_before(&ops, &[]), [0, 1]);
}

#[test]
fn the_second_of_two_in_one_reads_what_the_first_wrote() {
    let ops = [
        Op::Mov2 {
            d: 1,
            a: 0,
            e: 2,
            b: 1,
        },
        Op::End,
    ];
    assert_eq!(read_before(&ops, &[]), [0]);
}

#[test]
fn runs_are_what_is_wanted_side_by_side() {
    let wanted = [true, true, false, false, true, false];
    assert_eq!(runs(&wanted), [(0, 2), (4, 1)]);
    assert_eq!(runs(&[false; 3]), []);
    assert_eq!(runs(&[]), []);
}
