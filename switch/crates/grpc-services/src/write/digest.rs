// SPDX-License-Identifier: Apache-2.0
//! Digests: how the device sends them.

use device::DigestConfig;

use super::{change, find};
use crate::change::Change;
use crate::failure::Failure;
use crate::op::Op;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::update::Type;
use crate::schema::Schema;

pub fn entry(schema: &Schema, kind: Type, given: &p4::DigestEntry) -> Result<Op, Failure> {
    let digest = find(&schema.digests, "digest", "digest_id", given.digest_id)?;
    let change = change(kind);
    let mut config = DigestConfig::default();
    if change != Change::Delete {
        let name = &digest.name;
        let given = given
            .config
            .as_ref()
            .ok_or_else(|| Failure::invalid(format!("digest {name}: config is unset")))?;
        let below_0 = |field: &str, value: i64| {
            Failure::invalid(format!("digest {name}: {field} is {value}, below 0"))
        };
        let time = |field, value: i64| u64::try_from(value).map_err(|_| below_0(field, value));
        config.max_timeout_ns = time("max_timeout_ns", given.max_timeout_ns)?;
        config.ack_timeout_ns = time("ack_timeout_ns", given.ack_timeout_ns)?;
        config.max_list_size = u32::try_from(given.max_list_size)
            .map_err(|_| below_0("max_list_size", i64::from(given.max_list_size)))?;
    }
    Ok(Op::Digest(change, Box::new((digest.digest, config))))
}

/// Renders a digest's configuration as the client wrote it.
pub fn render(digest_id: u32, config: &DigestConfig) -> p4::DigestEntry {
    p4::DigestEntry {
        digest_id,
        config: Some(p4::digest_entry::Config {
            max_timeout_ns: config.max_timeout_ns as i64,
            max_list_size: config.max_list_size as i32,
            ack_timeout_ns: config.ack_timeout_ns as i64,
        }),
    }
}
