// SPDX-License-Identifier: Apache-2.0
//! Compares what a meter counts in P4Info with what it counts in the program.

use v1model::MeterUnit;

use super::differs;
use crate::proto::p4::config::v1 as config;

/// Checks what a meter counts.
///
/// # Errors
/// P4Info and the program disagree.
pub fn meter_unit(
    spec: Option<&config::MeterSpec>,
    unit: MeterUnit,
    of: &str,
) -> Result<(), String> {
    use config::meter_spec::{Type, Unit};
    let spec = spec.copied().unwrap_or_default();
    let json = match unit {
        MeterUnit::Packets => Unit::Packets,
        MeterUnit::Bytes => Unit::Bytes,
    };
    let given = spec.unit();
    if given != json {
        return Err(differs(
            "the unit",
            of,
            given.as_str_name(),
            json.as_str_name(),
        ));
    }
    if spec.r#type() != Type::TwoRateThreeColor {
        return Err(format!(
            "{of} is of type {} in P4Info, and v1model has TWO_RATE_THREE_COLOR meters only",
            spec.r#type().as_str_name()
        ));
    }
    Ok(())
}
