// SPDX-License-Identifier: Apache-2.0
//! What a pipeline remembers between packets.

use crate::meter;
use crate::op::mask;
use crate::program::Program;
use crate::random::Random;
use crate::schema::CounterData;
use crate::table::{Context, Profile, Table};
use crate::value_set::ValueSet;
use std::fmt;

/// A register array's cells.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    /// Cells of up to 64 bits.
    pub narrow: Vec<u64>,
    /// Cells of more.
    pub wide: Vec<u128>,
    /// The bits of a cell of up to 64.
    pub mask: u64,
    /// Bits of a cell.
    pub width: u16,
}

/// Receives the messages of a program.
pub type LogSink = Box<dyn FnMut(&str) + Send>;

/// Where messages go, if anywhere.
#[derive(Default)]
pub(crate) struct Log(pub Option<LogSink>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Log(on)"
        } else {
            "Log(off)"
        })
    }
}

/// Tables, registers, counters and the random generator of a pipeline.
#[derive(Debug)]
pub(crate) struct State {
    pub tables: Vec<Table>,
    pub registers: Vec<Register>,
    pub counters: Vec<Vec<CounterData>>,
    pub meters: Vec<Vec<meter::Cell>>,
    pub profiles: Vec<Profile>,
    pub value_sets: Vec<ValueSet>,
    /// The time of the packet that is being run, nanoseconds since the device
    /// started; for meters and idle timeouts.
    pub now_ns: u64,
    pub random: Random,
    pub drop_port: u16,
    pub log: Log,
    /// Scratch space of `hash()`.
    pub hash_input: Vec<u8>,
    /// Scratch space for fields that outlive their packet's metadata.
    pub carried: Vec<u64>,
    /// Register and counter accesses past the end; they had no effect.
    pub out_of_range: u64,
    /// Failed `assert` and `assume` statements.
    pub assertions: u64,
    /// The table in which idle timeouts are looked for first, next time.
    pub idle_turn: usize,
}

impl State {
    pub fn new(program: &Program, seed: u64) -> State {
        let register = |r: &crate::schema::RegisterSchema| {
            let wide = r.width > 64;
            Register {
                narrow: if wide { Vec::new() } else { vec![0; r.size] },
                wide: if wide { vec![0; r.size] } else { Vec::new() },
                mask: mask(r.width.min(64) as u8),
                width: r.width,
            }
        };
        let mut state = State {
            tables: program.initial_tables.clone(),
            registers: program.registers.iter().map(register).collect(),
            counters: program
                .counters
                .iter()
                .map(|c| vec![CounterData::default(); c.size])
                .collect(),
            meters: program
                .meters
                .iter()
                .map(|m| vec![meter::Cell::default(); m.size])
                .collect(),
            profiles: program
                .action_profiles
                .iter()
                .map(|p| Profile::new(p, &program.actions))
                .collect(),
            value_sets: program.value_sets.iter().map(ValueSet::new).collect(),
            now_ns: 0,
            random: Random::new(seed),
            drop_port: 511,
            log: Log::default(),
            hash_input: Vec::new(),
            carried: Vec::new(),
            out_of_range: 0,
            assertions: 0,
            idle_turn: 0,
        };
        if !program.grows {
            state.tables.iter_mut().for_each(Table::make_room);
            for (profile, schema) in state.profiles.iter_mut().zip(&program.action_profiles) {
                profile.make_room(schema);
            }
        }
        state.initial_defaults(program);
        state
    }

    /// Default entries of tables with a profile are members of the profile.
    fn initial_defaults(&mut self, program: &Program) {
        for (schema, table) in program.tables.iter().zip(&mut self.tables) {
            let Some(profile) = schema.profile.map(|p| p.0 as usize) else {
                continue;
            };
            let mut context = Context {
                schema,
                actions: &program.actions,
                profile: Some((
                    &program.action_profiles[profile],
                    &mut self.profiles[profile],
                )),
            };
            // It was checked when the program was loaded.
            let _ = table.set_default_unchecked(&mut context, None);
        }
    }

    #[cold]
    pub fn past_the_end(&mut self, what: &str, index: u64) {
        self.out_of_range += 1;
        if let Some(log) = &mut self.log.0 {
            log(&format!("index {index} is past the end of {what}: skipped"));
        }
    }
}
