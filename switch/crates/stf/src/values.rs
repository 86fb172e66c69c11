// SPDX-License-Identifier: Apache-2.0
//! Converts a test's keys, arguments and numbers to what the pipeline takes.

use crate::error::Error;
use crate::lookup::find_action;
use crate::names::{self, resolve, resolve_field};
use crate::parse::small;
use crate::script::*;
use v1model::{ActionCall, EntryKey, KeySchema, Match, MatchKind, MeterConfig, Program, TableId};

/// BMv2's driver turns a test's priority into this minus it, where low wins.
const PRIORITY_BASE: i64 = 10_000;
/// What the lowest numbers in the compiled program's entries count from.
const HIGHEST: i64 = i32::MAX as i64;

/// Rates are per microsecond in a test and per second in a meter.
pub(crate) fn meter_config(meter: &Name, rates: &[MeterRate]) -> Result<MeterConfig, Error> {
    let [committed, peak] = rates else {
        return Err(names::at(
            meter,
            format!(
                "a meter has two rates, committed and peak, not {}",
                rates.len()
            ),
        ));
    };
    let per_second = |rate: &MeterRate| (rate.per_microsecond * 1e6).round() as u64;
    Ok(MeterConfig {
        cir: per_second(committed),
        cburst: committed.burst,
        pir: per_second(peak),
        pburst: peak.burst,
    })
}

pub(crate) fn action_call(
    program: &Program,
    table: TableId,
    call: &Call,
) -> Result<ActionCall, Error> {
    let action = find_action(program, table, &call.name)?;
    let schema = &program.actions()[action.0 as usize];
    let mut args = vec![None; schema.params.len()];
    let kind = format!("parameter of action {}", schema.name);
    for (name, number) in &call.args {
        let params = schema.params.iter().enumerate();
        let at = resolve(
            &kind,
            name,
            params.clone().map(|(n, p)| (n, p.name.as_str())),
        )?;
        let what = format!("parameter {}", schema.params[at].name);
        args[at] = Some(plain(number, schema.params[at].width, &what)?);
    }
    if let Some(missing) = args.iter().position(Option::is_none) {
        return Err(names::at(
            &call.name,
            format!(
                "action {} needs a value for its parameter {}",
                schema.name, schema.params[missing].name
            ),
        ));
    }
    Ok(ActionCall {
        action,
        args: args.into_iter().flatten().collect(),
    })
}

pub(crate) fn entry_key(
    program: &Program,
    table: TableId,
    priority: Option<&Number>,
    fields: &[KeyField],
) -> Result<EntryKey, Error> {
    let schema = &program.tables()[table.0 as usize];
    let mut matches: Vec<Match> = schema.keys.iter().map(dont_care).collect();
    for field in fields {
        let keys = schema.keys.iter().enumerate();
        let names = keys.map(|(n, key)| (n, key.name.as_str()));
        let at = resolve_field(&schema.name, &field.name, names)?;
        matches[at] = field_match(&schema.keys[at], field)?;
    }
    let priority = if schema.needs_priority() {
        let given = match priority {
            Some(number) => i64::try_from(small(number, "priority")?)
                .ok()
                .filter(|p| *p < HIGHEST)
                .ok_or_else(|| at_number(number, "the priority is too high".into()))?,
            None => 0,
        };
        // In the compiled program's terms, so that its own entries compare.
        (HIGHEST - PRIORITY_BASE + given).clamp(1, HIGHEST) as i32
    } else {
        0
    };
    Ok(EntryKey { matches, priority })
}

/// What BMv2's driver puts in for a field that is not named.
fn dont_care(key: &KeySchema) -> Match {
    match key.kind {
        MatchKind::Exact => Match::Exact(0),
        MatchKind::Lpm => Match::Lpm {
            value: 0,
            prefix_len: 0,
        },
        MatchKind::Ternary => Match::Ternary { value: 0, mask: 0 },
        MatchKind::Range => Match::Range {
            low: 0,
            high: ones(key.width),
        },
        MatchKind::Optional => Match::Optional(None),
    }
}

fn field_match(key: &KeySchema, field: &KeyField) -> Result<Match, Error> {
    let what = format!("key field {}", key.name);
    let all = ones(key.width);
    let misfit = |shape: &str| {
        names::at(
            &field.name,
            format!("{what} is matched {:?}, and {shape} is given", key.kind),
        )
    };
    Ok(match (key.kind, &field.value) {
        (MatchKind::Exact, Value::Any) => return Err(misfit("`*`")),
        (_, Value::Any) => dont_care(key),
        (MatchKind::Exact, Value::Number(number)) => Match::Exact(plain(number, key.width, &what)?),
        (MatchKind::Lpm, Value::Number(number)) => {
            let value = wild(number, key.width, &what)?;
            let prefix_len = match number.literal.prefix_bits {
                Some(bits) => bits.min(u32::from(key.width)) as u16,
                None => key.width,
            };
            prefix(value, prefix_len, key.width)
        }
        (MatchKind::Lpm, Value::Prefix(number, length)) => {
            let value = wild(number, key.width, &what)?;
            let length = narrow(length, "prefix length", u32::from(key.width))?;
            prefix(value, length as u16, key.width)
        }
        (MatchKind::Ternary, Value::Prefix(number, length)) => {
            let value = wild(number, key.width, &what)?;
            let length = narrow(length, "prefix length", u32::from(key.width))?;
            let mask = all & !ones(key.width - length as u16);
            let value = value & mask;
            Match::Ternary { value, mask }
        }
        (MatchKind::Ternary, Value::Number(number)) => {
            let value = wild(number, key.width, &what)?;
            // Digits that are not written are not compared.
            let mask = number.literal.mask & all;
            Match::Ternary { value, mask }
        }
        (MatchKind::Ternary, Value::Masked(number, mask)) => {
            let value = wild(number, key.width, &what)?;
            let mask = plain(mask, key.width, "mask")?;
            let value = value & mask;
            Match::Ternary { value, mask }
        }
        (MatchKind::Range, Value::Number(number)) => {
            let value = plain(number, key.width, &what)?;
            Match::Range {
                low: value,
                high: value,
            }
        }
        (MatchKind::Range, Value::Range(low, high)) => Match::Range {
            low: plain(low, key.width, &what)?,
            high: plain(high, key.width, &what)?,
        },
        (MatchKind::Optional, Value::Number(number)) => {
            if number.literal.wild && number.literal.mask == 0 {
                Match::Optional(None)
            } else {
                Match::Optional(Some(plain(number, key.width, &what)?))
            }
        }
        (_, Value::Prefix(..)) => return Err(misfit("a prefix")),
        (_, Value::Masked(..)) => return Err(misfit("a mask")),
        (_, Value::Range(..)) => return Err(misfit("a range")),
    })
}

fn prefix(value: u128, prefix_len: u16, width: u16) -> Match {
    Match::Lpm {
        value: value & !ones(width - prefix_len),
        prefix_len,
    }
}

/// A value without `*`; negative ones in two's complement.
pub(crate) fn plain(number: &Number, width: u16, what: &str) -> Result<u128, Error> {
    if number.literal.wild {
        return Err(at_number(
            number,
            format!("{what} takes no `*`, as in `{}`", number.literal.text),
        ));
    }
    wild(number, width, what)
}

fn wild(number: &Number, width: u16, what: &str) -> Result<u128, Error> {
    let all = ones(width);
    let value = match number.literal.value {
        Some(value) if number.negative && value.checked_sub(1).is_none_or(|v| v <= all >> 1) => {
            Some(value.wrapping_neg() & all)
        }
        Some(value) if !number.negative => Some(value).filter(|v| v & !all == 0),
        _ => None,
    };
    value.ok_or_else(|| {
        at_number(
            number,
            format!(
                "{}{} does not fit into the {width} bits of {what}",
                if number.negative { "-" } else { "" },
                number.literal.text
            ),
        )
    })
}

fn ones(width: u16) -> u128 {
    match width {
        0 => 0,
        width => u128::MAX >> (128 - u32::from(width.min(128))),
    }
}

pub(crate) fn narrow(number: &Number, what: &str, most: u32) -> Result<u32, Error> {
    let value = small(number, what)?;
    u32::try_from(value)
        .ok()
        .filter(|v| *v <= most)
        .ok_or_else(|| {
            at_number(
                number,
                format!("the {what} {value} is more than {most}, the highest"),
            )
        })
}

pub(crate) fn as_index(number: &Number) -> Result<usize, Error> {
    usize::try_from(small(number, "index")?)
        .map_err(|_| at_number(number, "the index is too high".into()))
}

pub(crate) fn as_ports(ports: &[Number]) -> Result<Vec<u16>, Error> {
    ports
        .iter()
        .map(|port| narrow(port, "port", 511).map(|p| p as u16))
        .collect()
}

pub(crate) fn at_number(number: &Number, message: String) -> Error {
    Error {
        line: number.line,
        column: number.column,
        message,
    }
}
