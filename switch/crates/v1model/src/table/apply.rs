// SPDX-License-Identifier: Apache-2.0
//! Lookups in tables that have more than entries with actions and counters:
//! direct meters, idle timeouts, action profiles.

use super::{DEFAULT, Found, Target};
use crate::calculation::Source;
use crate::code::Code;
use crate::schema::MeterUnit;
use crate::state::State;
use std::ops::Range;

/// The frame as far as selectors read it.
pub(crate) struct Frame<'a> {
    pub bytes: &'a [u8],
    /// Where the payload is in it.
    pub payload: Range<usize>,
}

/// Looks a packet up (`bytes` long), marks it, and resolves members and groups.
#[inline(never)]
pub(crate) fn lookup_with<'s>(
    code: &Code,
    state: &'s mut State,
    phv: &mut [u64],
    frame: Frame<'_>,
    table: usize,
    bytes: u64,
) -> Found<'s> {
    let lowered = &code.tables[table];
    let now_ns = state.now_ns;
    let entries = &mut state.tables[table];
    let entry = entries.index.find(phv).unwrap_or(DEFAULT);
    let hit = entry != DEFAULT;
    entries.count(entry, bytes);
    if hit && let Some(idle) = &mut entries.idle {
        idle.hit(entry, now_ns);
    }
    if let Some(meter) = &lowered.meter {
        let cell = &mut entries.meters[entry as usize];
        // As in BMv2, a miss leaves the field as it is; only that there the
        // default entry's meter cannot be configured.
        if hit || cell.config().is_some() {
            let units = match meter.unit {
                MeterUnit::Packets => 1,
                MeterUnit::Bytes => bytes,
            };
            phv[usize::from(meter.target)] = cell.mark(now_ns, units) as u64 & meter.mask;
            phv[usize::from(meter.raw)] = 0;
        }
    }
    let nothing = Found {
        hit,
        action: lowered.actions.len() as u16 - 1,
        args: &[],
    };
    match &lowered.profile {
        None => {
            let (action, args) = state.tables[table].calls.get(entry);
            Found { hit, action, args }
        }
        Some(profile) => {
            let target = Target::from_word(entries.targets[entry as usize]);
            let scratch = &mut state.hash_input;
            let hash = || match profile.hash {
                Some(hash) => {
                    let source = Source {
                        phv,
                        frame: frame.bytes,
                        payload: frame.payload,
                    };
                    code.calculations[usize::from(hash)].compute(&source, scratch) as u32
                }
                None => 0,
            };
            match state.profiles[usize::from(profile.profile)].choose(target, hash) {
                Some((action, args)) => Found {
                    hit,
                    action: profile.actions[usize::from(action)],
                    args,
                },
                None => nothing,
            }
        }
    }
}
