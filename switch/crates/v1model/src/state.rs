// SPDX-License-Identifier: Apache-2.0
//! What a pipeline remembers between packets.

use crate::op::mask;
use crate::program::Program;
use crate::random::Random;
use crate::schema::CounterData;
use crate::table::Table;
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
        State {
            tables: program.initial_tables.clone(),
            registers: program.registers.iter().map(register).collect(),
            counters: program
                .counters
                .iter()
                .map(|c| vec![CounterData::default(); c.size])
                .collect(),
            random: Random::new(seed),
            drop_port: 511,
            log: Log::default(),
            hash_input: Vec::new(),
            carried: Vec::new(),
            out_of_range: 0,
            assertions: 0,
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
