// SPDX-License-Identifier: Apache-2.0
//! P4Info from its text format.

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};

use crate::proto::DESCRIPTORS;
use crate::proto::p4::config::v1::P4Info;

/// Reads P4Info in protobuf's text format, as in p4c's `.p4info.txtpb` files.
///
/// # Errors
/// The text is not P4Info; the sentence gives the place.
pub fn from_text(text: &str) -> Result<P4Info, String> {
    let pool = DescriptorPool::decode(DESCRIPTORS)
        .map_err(|error| format!("the built-in descriptors are damaged: {error}"))?;
    let descriptor = pool
        .get_message_by_name("p4.config.v1.P4Info")
        .ok_or("the built-in descriptors lack p4.config.v1.P4Info")?;
    let message = DynamicMessage::parse_text_format(descriptor, text)
        .map_err(|error| format!("not P4Info in protobuf's text format: {error}"))?;
    P4Info::decode(message.encode_to_vec().as_slice())
        .map_err(|error| format!("not P4Info: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{CellType, Types};

    #[test]
    fn reads_the_text_format() {
        let text = r#"
            pkg_info { arch: "v1model" }
            registers {
              preamble { id: 369098753 name: "r" alias: "r" }
              type_spec { serializable_enum { name: "op" } }
              size: 4
            }
            type_info {
              serializable_enums { key: "op" value { underlying_type { bitwidth: 8 }
                members { name: "A" value: "\001" } } }
            }"#;
        let info = from_text(text).unwrap();
        assert_eq!(info.pkg_info.unwrap().arch, "v1model");
        let spec = info.registers[0].type_spec.as_ref().unwrap();
        assert_eq!(
            Types(info.type_info.as_ref()).cell(spec),
            Some((CellType::Enum, 8))
        );
    }

    #[test]
    fn tells_where_the_text_is_wrong() {
        let error = from_text("tables { preamble { idd: 1 } }").unwrap_err();
        assert!(error.contains("idd"), "{error}");
    }
}
