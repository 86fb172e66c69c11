// SPDX-License-Identifier: Apache-2.0
//! The objects of a program that a request uses, as a small set. The set may contain objects that
//! the request does not use, because several registers share one place, and never lacks one that it
//! uses.

use std::ops::{BitOr, BitOrAssign};

use v1model::RegisterId;

use crate::op::Op;
use crate::read::Query;
use crate::schema::Schema;

/// A set of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint(u64);

/// Places that registers share.
const REGISTERS: u32 = 59;

impl Footprint {
    /// No object.
    pub const NOTHING: Self = Footprint(0);
    /// Tables with their direct resources, action profiles and value sets.
    pub const TABLES: Self = Footprint(1);
    /// Indirect counters.
    pub const COUNTERS: Self = Footprint(2);
    /// Indirect meters.
    pub const METERS: Self = Footprint(4);
    /// Multicast groups and clone sessions.
    pub const REPLICATION: Self = Footprint(8);
    /// Digests.
    pub const DIGESTS: Self = Footprint(16);
    /// All objects.
    pub const ALL: Self = Footprint(u64::MAX);

    /// One register.
    fn register(id: RegisterId) -> Self {
        let first = u64::BITS - REGISTERS;
        Footprint(1 << (first + id.0 % REGISTERS))
    }

    /// Whether there is an object that both sets contain.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// What an update changes.
    pub fn of_op(op: &Op) -> Self {
        match op {
            Op::Entry(_)
            | Op::Default(_)
            | Op::DirectCounter(_)
            | Op::DirectMeter(_)
            | Op::Recount(_)
            | Op::Member(..)
            | Op::Group(..)
            | Op::ValueSet(_) => Self::TABLES,
            Op::Counter(..) | Op::CounterCells(_) => Self::COUNTERS,
            Op::Meter(_) | Op::MeterCells(_) => Self::METERS,
            Op::Register(id, ..) => Self::register(*id),
            Op::Run(run) => Self::register(run.register),
            Op::RegisterCells(op) => Self::register(op.0),
            Op::Multicast(..) | Op::CloneSession(..) => Self::REPLICATION,
            Op::Digest(..) => Self::DIGESTS,
            Op::Nothing => Self::NOTHING,
        }
    }

    /// What a query reads.
    pub fn of_query(query: &Query, schema: &Schema) -> Self {
        let registers = schema.registers.list();
        match query {
            Query::Tables { .. }
            | Query::Members { .. }
            | Query::Groups { .. }
            | Query::ValueSets(_) => Self::TABLES,
            Query::Counters { .. } => Self::COUNTERS,
            Query::Meters { .. } => Self::METERS,
            Query::Registers { places, .. } => registers[places.clone()]
                .iter()
                .fold(Self::NOTHING, |all, one| all | Self::register(one.register)),
            Query::Cells(run) => run.registers().fold(Self::NOTHING, |all, place| {
                all | Self::register(registers[place].register)
            }),
            Query::Digests { .. } => Self::DIGESTS,
            Query::Multicast { .. } | Query::CloneSessions { .. } => Self::REPLICATION,
            Query::Nothing => Self::NOTHING,
        }
    }
}

impl BitOr for Footprint {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Footprint(self.0 | other.0)
    }
}

impl BitOrAssign for Footprint {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_apart_from_all_else_and_mostly_from_each_other() {
        let others = [
            Footprint::TABLES,
            Footprint::COUNTERS,
            Footprint::METERS,
            Footprint::REPLICATION,
            Footprint::DIGESTS,
        ];
        for id in 0..200 {
            let own = Footprint::register(RegisterId(id));
            assert!(others.iter().all(|other| !own.meets(*other)));
            assert!(own.meets(own) && own.meets(Footprint::ALL));
            assert!(!own.meets(Footprint::register(RegisterId(id + 1))));
        }
        assert!(!Footprint::NOTHING.meets(Footprint::ALL));
    }
}
