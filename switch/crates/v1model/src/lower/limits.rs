// SPDX-License-Identifier: Apache-2.0
//! What a program may ask for. A damaged or hostile program must not take the
//! machine's memory: it is refused before anything is allocated for it.

use super::Lowered;
use crate::error::LoadError;
use crate::schema::TableSchema;

/// Most memory for all arrays of a program, in bytes.
const ARRAYS: u128 = 1 << 30;
/// Most entries that a table may promise to take: as many as can be numbered.
const ENTRIES: usize = 1 << 31;
/// Most memory for the entries that P4 gives, in bytes. An entry takes as much as the longest
/// arguments of its table's actions.
const ENTRY_BYTES: usize = 256 << 20;

/// Most fields of a table's key, and most bits of all. An entry of a table with priorities is
/// noted in sixteen sets for every four bits that some entry looks at. A tuple of addresses and
/// ports of IPv6 has five fields of 296 bits, and p4c's tests have keys of 64 fields.
const KEY_FIELDS: usize = 256;
const KEY_BITS: usize = 4096;

/// # Errors
/// The table's key is longer than keys may be.
pub(super) fn check_key(table: &TableSchema) -> Result<(), LoadError> {
    let fields = table.keys.len();
    let bits: usize = table.keys.iter().map(|key| usize::from(key.width)).sum();
    if fields <= KEY_FIELDS && bits <= KEY_BITS {
        return Ok(());
    }
    Err(LoadError::new(format!(
        "the key of table {} has {fields} fields of {bits} bits in all; at most {KEY_FIELDS} \
         fields and {KEY_BITS} bits are supported",
        table.name
    )))
}

/// Most headers that a deparser emits, each counted as often as it is: all are looked at for every
/// packet.
const EMITTED: usize = 4096;

/// # Errors
/// The deparser emits more headers.
pub(super) fn check_deparser(emitted: usize) -> Result<(), LoadError> {
    if emitted <= EMITTED {
        return Ok(());
    }
    Err(LoadError::new(format!(
        "the deparser emits {emitted} headers; at most {EMITTED} are supported"
    )))
}

/// All entries up to some of this table take so many bytes.
///
/// # Errors
/// These are too many; the sentence names the table.
pub(crate) fn check_entries(table: &TableSchema, bytes: usize) -> Result<(), LoadError> {
    if bytes <= ENTRY_BYTES {
        return Ok(());
    }
    Err(LoadError::new(format!(
        "with those of table {} the entries that P4 gives take more than {} MiB, which are not \
         supported",
        table.name,
        ENTRY_BYTES >> 20
    )))
}

/// # Errors
/// A sentence that names the object and its size.
pub(super) fn check(lowered: &Lowered) -> Result<(), LoadError> {
    let registers = lowered.registers.iter().map(|r| {
        let cell = 8 * u128::from(r.width.div_ceil(64)).max(1);
        ("register array", &r.name, r.size, cell)
    });
    let counters = lowered
        .counters
        .iter()
        .map(|c| ("counter array", &c.name, c.size, 16));
    let meters = lowered
        .meters
        .iter()
        .map(|m| ("meter array", &m.name, m.size, 128));
    let mut total = 0u128;
    for (kind, name, size, cell) in registers.chain(counters).chain(meters) {
        total += size as u128 * cell;
        if total > ARRAYS {
            return Err(LoadError::new(format!(
                "{kind} {name} has the size {size}, and all arrays together may take {} MiB",
                ARRAYS >> 20
            )));
        }
    }
    for table in &lowered.tables {
        if table.size > ENTRIES {
            return Err(LoadError::new(format!(
                "table {} has the max_size {}, and at most {ENTRIES} entries are supported",
                table.name, table.size
            )));
        }
    }
    Ok(())
}
