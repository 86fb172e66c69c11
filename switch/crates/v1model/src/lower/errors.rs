// SPDX-License-Identifier: Apache-2.0
//! The numbers of a program's parser errors.

use crate::code::ParserErrors;
use crate::json::Document;

/// core.p4's errors; their numbers are p4c's, in the order of declaration.
pub(super) fn parser_errors(document: &Document) -> ParserErrors {
    let value = |name: &str, otherwise: u64| {
        document
            .errors
            .iter()
            .find(|(n, _)| n == name)
            .map_or(otherwise, |(_, v)| *v)
    };
    ParserErrors {
        packet_too_short: value("PacketTooShort", 1),
        no_match: value("NoMatch", 2),
        stack_out_of_bounds: value("StackOutOfBounds", 3),
        header_too_short: value("HeaderTooShort", 4),
        parser_timeout: value("ParserTimeout", 5),
        parser_invalid_argument: value("ParserInvalidArgument", 6),
    }
}
