// SPDX-License-Identifier: Apache-2.0
//! P4Info from its text format, and the P4 types that it describes.

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};

use crate::proto::DESCRIPTORS;
use crate::proto::p4::config::v1::{
    P4DataTypeSpec, P4Info, P4TypeInfo, p4_bitstring_like_type_spec, p4_data_type_spec,
    p4_new_type_spec,
};

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

/// How a cell of a register is represented in `P4Data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellType {
    /// `bit<W>`, as `bitstring`.
    Bits,
    /// `int<W>`, as `bitstring`.
    Signed,
    /// `bool`, as `bool`.
    Bool,
    /// A serializable enum, as `enum_value`.
    Enum,
}

/// A register's type with its width in bits; `None` for types that v1model
/// registers cannot have.
pub fn cell_type(spec: &P4DataTypeSpec, types: Option<&P4TypeInfo>) -> Option<(CellType, i32)> {
    use p4_bitstring_like_type_spec::TypeSpec as Bitstring;
    use p4_data_type_spec::TypeSpec;
    match spec.type_spec.as_ref()? {
        TypeSpec::Bitstring(bits) => match bits.type_spec.as_ref()? {
            Bitstring::Bit(bit) => Some((CellType::Bits, bit.bitwidth)),
            Bitstring::Int(int) => Some((CellType::Signed, int.bitwidth)),
            Bitstring::Varbit(_) => None,
        },
        TypeSpec::Bool(_) => Some((CellType::Bool, 1)),
        TypeSpec::SerializableEnum(named) => {
            let spec = types?.serializable_enums.get(&named.name)?;
            Some((CellType::Enum, spec.underlying_type.as_ref()?.bitwidth))
        }
        TypeSpec::NewType(named) => {
            let spec = types?.new_types.get(&named.name)?;
            match spec.representation.as_ref()? {
                p4_new_type_spec::Representation::OriginalType(original) => {
                    // A type cannot contain itself: p4c has checked.
                    cell_type(original, types)
                }
                p4_new_type_spec::Representation::TranslatedType(_) => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            cell_type(spec, info.type_info.as_ref()),
            Some((CellType::Enum, 8))
        );
    }

    #[test]
    fn tells_where_the_text_is_wrong() {
        let error = from_text("tables { preamble { idd: 1 } }").unwrap_err();
        assert!(error.contains("idd"), "{error}");
    }
}
