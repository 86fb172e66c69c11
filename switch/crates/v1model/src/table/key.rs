// SPDX-License-Identifier: Apache-2.0
//! A table's key as 64-bit words, and what entries demand of them.

use super::KeySource;
use super::rules::Condition;
use crate::error::ControlError;
use crate::op::{Slot, mask_wide};
use crate::schema::{EntryKey, KeySchema, Match, MatchKind, TableSchema};

/// One word of a key: a field of up to 64 bits, or half of a wider one.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    slot: Slot,
    valid: Slot,
    /// The bits that the word can have.
    pub mask: u64,
    /// Index of the key field.
    field: usize,
    /// 0 for the lower 64 bits of the field, 64 for the upper.
    shift: u32,
    /// Bits of the field.
    width: u16,
}

impl Word {
    /// The packet's value; 0 when the field's header is not valid.
    #[inline(always)]
    pub fn load(&self, phv: &[u64]) -> u64 {
        phv[usize::from(self.slot)] & self.mask & phv[usize::from(self.valid)].wrapping_neg()
    }
}

/// The words of a key, the lower half of a wide field first.
pub(crate) fn words_of_key(sources: &[KeySource]) -> Vec<Word> {
    let mut words = Vec::new();
    for (field, source) in sources.iter().enumerate() {
        let all = source.mask & mask_wide(source.width);
        let word = |half: u32| Word {
            slot: source.slot + half as Slot,
            valid: source.valid,
            mask: (all >> (64 * half)) as u64,
            field,
            shift: 64 * half,
            width: source.width,
        };
        words.push(word(0));
        if source.width > 64 {
            words.push(word(1));
        }
    }
    words
}

/// Zeroes the bits of the LPM field that are behind the prefix.
#[inline]
pub(crate) fn cut_prefix(words: &[Word], lpm: usize, length: u16, key: &mut [u64]) {
    for (word, value) in words.iter().zip(key) {
        if word.field == lpm {
            *value &= (prefix_mask(word.width, length) >> word.shift) as u64;
        }
    }
}

fn prefix_mask(width: u16, length: u16) -> u128 {
    mask_wide(width) & !mask_wide(width - length.min(width))
}

/// The words that a packet's key must equal; for exact and LPM entries.
pub(crate) fn exact_words(words: &[Word], key: &EntryKey) -> Vec<u64> {
    words
        .iter()
        .map(|word| {
            let value = match key.matches[word.field] {
                Match::Exact(value) | Match::Lpm { value, .. } => value,
                _ => 0,
            };
            (value >> word.shift) as u64 & word.mask
        })
        .collect()
}

/// The length of the one prefix.
pub(crate) fn prefix_len(key: &EntryKey) -> u16 {
    key.matches
        .iter()
        .find_map(|m| match m {
            Match::Lpm { prefix_len, .. } => Some(*prefix_len),
            _ => None,
        })
        .unwrap_or(0)
}

/// What an entry of a table with priorities demands.
pub(crate) fn conditions(words: &[Word], schema: &TableSchema, key: &EntryKey) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let width = schema.keys[word.field].width;
        let (value, mask) = match key.matches[word.field] {
            Match::Exact(value) | Match::Optional(Some(value)) => (value, mask_wide(width)),
            Match::Optional(None) => (0, 0),
            Match::Ternary { value, mask } => (value, mask),
            Match::Lpm { value, prefix_len } => (value, prefix_mask(width, prefix_len)),
            Match::Range { low, high } => {
                // Ranges are of at most 64 bits: see `check`.
                let span = (high - low) as u64;
                if span < word.mask {
                    let low = low as u64;
                    conditions.push(Condition {
                        word: at as u16,
                        mask: word.mask,
                        low,
                        span,
                    });
                }
                continue;
            }
        };
        let mask = (mask >> word.shift) as u64 & word.mask;
        if mask != 0 {
            let low = (value >> word.shift) as u64 & mask;
            conditions.push(Condition {
                word: at as u16,
                mask,
                low,
                span: 0,
            });
        }
    }
    conditions
}

/// Refuses a match that does not fit the key.
pub(crate) fn check(schema: &TableSchema, key: &EntryKey) -> Result<(), ControlError> {
    let invalid = |reason: String| ControlError::InvalidMatch {
        table: schema.name.clone(),
        reason,
    };
    if schema.keys.is_empty() {
        return Err(invalid(
            "the table has no key, so it has no entries".to_owned(),
        ));
    }
    if key.matches.len() != schema.keys.len() {
        return Err(invalid(format!(
            "the key has {} fields, not {}",
            schema.keys.len(),
            key.matches.len()
        )));
    }
    match (schema.needs_priority(), key.priority) {
        (true, ..=0) => {
            return Err(invalid(
                "a priority above 0 is needed, because a key field is ternary, range or optional"
                    .to_owned(),
            ));
        }
        (false, p) if p != 0 => {
            return Err(invalid(
                "the priority must be 0, because no key field is ternary, range or optional"
                    .to_owned(),
            ));
        }
        _ => {}
    }
    for (field, given) in schema.keys.iter().zip(&key.matches) {
        check_field(field, given).map_err(|e| match e {
            Problem::Wide => ControlError::ValueTooWide {
                what: format!("key field {} of table {}", field.name, schema.name),
                width: field.width,
            },
            Problem::Shape(reason) => invalid(format!("key field {}: {reason}", field.name)),
        })?;
    }
    Ok(())
}

enum Problem {
    Wide,
    Shape(String),
}

fn check_field(field: &KeySchema, given: &Match) -> Result<(), Problem> {
    let all = mask_wide(field.width);
    let fits = |value: u128| {
        if value & !all == 0 {
            Ok(())
        } else {
            Err(Problem::Wide)
        }
    };
    let shape = |reason: &str| Err(Problem::Shape(reason.to_owned()));
    match (field.kind, *given) {
        (MatchKind::Exact, Match::Exact(value)) => fits(value),
        // p4c writes optional fields as ternary ones into the JSON.
        (MatchKind::Optional | MatchKind::Ternary, Match::Optional(value)) => {
            fits(value.unwrap_or(0))
        }
        (MatchKind::Lpm, Match::Lpm { value, prefix_len }) => {
            fits(value)?;
            if prefix_len > field.width {
                return shape("the prefix is longer than the field");
            }
            if value & !prefix_mask(field.width, prefix_len) != 0 {
                return shape("bits behind the prefix are set");
            }
            Ok(())
        }
        (MatchKind::Ternary, Match::Ternary { value, mask }) => {
            fits(value)?;
            fits(mask)?;
            if value & !mask != 0 {
                return shape("bits outside the mask are set");
            }
            Ok(())
        }
        (MatchKind::Range, Match::Range { low, high }) => {
            fits(low)?;
            fits(high)?;
            if low > high {
                return shape("the range's low bound is above its high bound");
            }
            Ok(())
        }
        (kind, _) => shape(&format!(
            "the field is matched {kind:?}, and the entry gives another kind"
        )),
    }
}

/// Refuses a value that does not fit.
pub(crate) fn check_width(
    value: u128,
    width: u16,
    what: impl FnOnce() -> String,
) -> Result<(), ControlError> {
    if value & !mask_wide(width) == 0 {
        Ok(())
    } else {
        Err(ControlError::ValueTooWide {
            what: what(),
            width,
        })
    }
}
