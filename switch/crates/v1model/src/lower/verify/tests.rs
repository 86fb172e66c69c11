// SPDX-License-Identifier: Apache-2.0
//! Every way in which code could be bad is found.

use super::*;
use crate::program::Program;

/// What is said of a program's code after a change.
fn verdict(change: impl FnOnce(&mut Code)) -> Result<(), String> {
    let json = include_bytes!("../../../tests/programs/tables.json");
    let mut program = Program::load(json).unwrap();
    let counts = Counts {
        registers: program.registers.len(),
        counters: program.counters.len(),
        meters: program.meters.len(),
        value_sets: program.value_sets.len(),
        arguments: 0,
    };
    change(&mut program.code);
    verify(&program.code, &counts).map_err(|error| error.message)
}

fn refused(what: &str, change: impl FnOnce(&mut Code)) {
    let words = verdict(change).expect_err(what);
    assert!(words.contains(what), "{words}");
}

/// The first instruction of a kind.
fn first(code: &Code, is: impl Fn(&Op) -> bool) -> usize {
    code.ops.iter().position(is).expect("the program has one")
}

/// A table that is looked up.
fn table(code: &mut Code) -> &mut crate::code::TableCode {
    let mut tables = code.tables.iter_mut();
    tables.find(|table| !table.actions.is_empty()).unwrap()
}

#[test]
fn a_good_program_is_good() {
    verdict(|_| {}).unwrap();
}

#[test]
fn every_place_that_is_jumped_to_is_in_the_code() {
    let leaves = "leave the code";
    refused(leaves, |code| code.parser = code.ops.len() as Pc);
    refused(leaves, |code| code.parser_end = code.ops.len() as Pc);
    refused(leaves, |code| code.ingress = Pc::MAX);
    refused(leaves, |code| code.egress = code.ops.len() as Pc);
    refused(leaves, |code| code.deparser = Some(code.ops.len() as Pc));
    refused(leaves, |code| {
        let end = code.ops.len() as Pc;
        table(code).actions[0] = end;
    });
    refused(leaves, |code| {
        let end = code.ops.len() as Pc;
        table(code).next[0].0 = end;
    });
    refused(leaves, |code| {
        let end = code.ops.len() as Pc;
        table(code).next[0].1 = end;
    });
    refused(leaves, |code| table(code).next.truncate(1));
    refused(leaves, |code| {
        table(code).actions.clear();
        table(code).next.clear();
    });
    refused(leaves, |code| code.ops.push(Op::Jump { to: Pc::MAX }));
    refused(leaves, |code| code.ops.push(Op::Tick));
}

#[test]
fn a_packet_comes_to_an_end() {
    let stays = "would not leave";
    refused(stays, |code| {
        let ingress = code.ingress;
        table(code).next[0].0 = ingress;
    });
    refused(stays, |code| {
        let at = first(code, |op| *op == Op::End);
        code.ops[at] = Op::Jump { to: at as Pc };
    });
    refused(stays, |code| {
        let at = code.ingress as usize;
        code.ops[at] = Op::Return;
    });
    refused(stays, |code| {
        let action = table(code).actions[0] as usize;
        code.ops[action] = Op::Jump { to: action as Pc };
    });
    // What fails behind the parser goes to where it is.
    refused(stays, |code| {
        let at = code.parser_end as usize;
        code.ops[at] = Op::Advance { a: 0 };
    });
}

#[test]
fn values_have_bits() {
    let bits = "no bits";
    let (d, a, b, register, index) = (0, 0, 0, 0, 0);
    for w in [0, 65] {
        refused(bits, |code| code.ops.insert(0, Op::Cut { d, a, w }));
        refused(bits, |code| code.ops.insert(0, Op::Add { d, a, b, w }));
        refused(bits, |code| {
            let (low, high) = (a, b);
            code.ops.insert(0, Op::Random { d, low, high, w });
        });
        refused(bits, |code| {
            let meter = 0;
            code.ops.insert(0, Op::ExecuteMeter { d, index, meter, w });
        });
        refused(bits, |code| {
            let read = Op::RegisterRead {
                d,
                index,
                register,
                w,
            };
            code.ops.insert(0, read);
        });
    }
    refused(bits, |code| {
        let w = 0;
        code.ops.insert(0, Op::CutW { d, a, w });
    });
}

#[test]
fn what_instructions_name_is_there() {
    let unknown = "name what is not there";
    let most = u16::MAX;
    for op in [
        Op::Apply { table: most },
        Op::ApplyWith { table: most },
        Op::Extract { header: most },
        Op::AddHeader { header: most },
        Op::Log { message: most },
        Op::Push {
            stack: most,
            next: 0,
            slots: 0,
            by: 0,
        },
        Op::Wide {
            words: 1,
            d: 0,
            expr: most,
        },
        Op::Checksum {
            d: 0,
            calculation: most,
        },
        Op::Count {
            counter: most,
            index: 0,
        },
        Op::RegisterWrite {
            a: 0,
            index: 0,
            register: most,
        },
        Op::RegisterRead2 {
            d: 0,
            e: 0,
            index: 0,
            register: 0,
            other: most,
        },
        Op::JumpInSet {
            words: 1,
            set: most,
            key: 0,
            to: 0,
        },
    ] {
        refused(unknown, |code| code.ops.insert(0, op));
    }
    refused("no slots", |code| {
        let slots = code.template.len() as Slot;
        code.ops.insert(0, Op::Mov { d: slots, a: 0 });
    });
    refused("no slots", |code| code.headers[0].valid = Slot::MAX);
    refused("no slots", |code| code.standard.parser_error = Slot::MAX);
    refused("no slots", |code| code.params = code.template.len() + 1);
    refused("no slots", |code| table(code).keys[0].slot = Slot::MAX);
}
