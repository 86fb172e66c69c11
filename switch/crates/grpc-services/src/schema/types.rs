// SPDX-License-Identifier: Apache-2.0
//! P4 types as P4Info describes them. They tell how a cell or a digest is represented on the wire,
//! and which types have another width for the controller than in the data plane
//! (`@p4runtime_translation`).

use crate::proto::p4::config::v1 as config;
use crate::proto::p4::config::v1::p4_new_type_translation::SdnType;
use config::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use config::p4_data_type_spec::TypeSpec;
use config::p4_new_type_spec::Representation;

/// How a value without parts is represented in `P4Data`.
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

/// How a digest is represented in `P4Data`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value, of so many bits.
    Cell(CellType, u16),
    /// As `struct`.
    Struct(Vec<Shape>),
    /// As `tuple`.
    Tuple(Vec<Shape>),
    /// As a `header`, which is valid.
    Header(Vec<(CellType, u16)>),
}

/// P4Info's types by name.
#[derive(Clone, Copy, Debug)]
pub struct Types<'a>(pub Option<&'a config::P4TypeInfo>);

/// How deep types within types are followed. P4 has no recursive types, but a client's P4Info may
/// have them.
const MAX_DEPTH: usize = 32;

impl<'a> Types<'a> {
    /// The bits of a value on the wire, for something that has `bitwidth` in
    /// P4Info and `width` in the data plane. Values are the same numbers on
    /// both sides of a translation.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the object that `of` names.
    pub fn wire_width(
        self,
        named: Option<&config::P4NamedType>,
        bitwidth: i32,
        width: u16,
        of: &str,
    ) -> Result<u16, String> {
        match named.and_then(|named| self.translation(&named.name).map(|found| (named, found))) {
            None => {
                super::same("the width", of, i64::from(bitwidth), i64::from(width))?;
                Ok(width)
            }
            Some((named, SdnType::SdnBitwidth(bits))) => {
                // p4c gives the controller's width.
                super::same("the width", of, bitwidth, *bits)?;
                u16::try_from(*bits)
                    .ok()
                    .filter(|bits| *bits > 0)
                    .ok_or_else(|| {
                        format!(
                            "the type {} of {of} is translated to {bits} bits in P4Info",
                            named.name
                        )
                    })
            }
            Some((named, SdnType::SdnString(_))) => Err(format!(
                "the type {} of {of} is translated to a string (sdn_string) in P4Info, which \
                 this target does not support: translate it to a bit<W>",
                named.name
            )),
        }
    }

    fn translation(self, name: &str) -> Option<&'a SdnType> {
        match self.0?.new_types.get(name)?.representation.as_ref()? {
            Representation::TranslatedType(translation) => translation.sdn_type.as_ref(),
            Representation::OriginalType(_) => None,
        }
    }

    /// A type without parts, and its bits in the data plane if they are not
    /// translated; `None` for types that a register cannot have.
    pub fn cell(self, spec: &config::P4DataTypeSpec) -> Option<(CellType, i32)> {
        self.cell_within(spec, MAX_DEPTH)
    }

    fn cell_within(self, spec: &config::P4DataTypeSpec, depth: usize) -> Option<(CellType, i32)> {
        match spec.type_spec.as_ref()? {
            TypeSpec::Bitstring(bits) => bitstring(bits),
            TypeSpec::Bool(_) => Some((CellType::Bool, 1)),
            TypeSpec::SerializableEnum(named) => {
                let spec = self.0?.serializable_enums.get(&named.name)?;
                Some((CellType::Enum, spec.underlying_type.as_ref()?.bitwidth))
            }
            TypeSpec::NewType(named) => {
                match self
                    .0?
                    .new_types
                    .get(&named.name)?
                    .representation
                    .as_ref()?
                {
                    Representation::OriginalType(original) => {
                        self.cell_within(original, depth.checked_sub(1)?)
                    }
                    Representation::TranslatedType(translation) => match translation.sdn_type? {
                        SdnType::SdnBitwidth(bits) => Some((CellType::Bits, bits)),
                        SdnType::SdnString(_) => None,
                    },
                }
            }
            _ => None,
        }
    }

    /// Whether a type is translated, so that its width in P4Info is not that of the data plane.
    pub fn is_translated(self, spec: &config::P4DataTypeSpec) -> bool {
        match &spec.type_spec {
            Some(TypeSpec::NewType(named)) => self.is_translated_name(&named.name),
            _ => false,
        }
    }

    /// As [`Self::is_translated`], of a type by its name.
    pub fn is_translated_name(self, name: &str) -> bool {
        self.translation(name).is_some()
    }

    /// The representation of a digest.
    ///
    /// # Errors
    /// A sentence that names the type that this target cannot represent.
    pub fn shape(self, spec: &config::P4DataTypeSpec) -> Result<Shape, String> {
        self.shape_within(spec, MAX_DEPTH)
    }

    fn shape_within(self, spec: &config::P4DataTypeSpec, depth: usize) -> Result<Shape, String> {
        let deeper = || {
            depth
                .checked_sub(1)
                .ok_or("types are nested too deeply in P4Info's type_info")
        };
        let missing = |name: &str| format!("P4Info's type_info lacks the type {name}");
        match spec.type_spec.as_ref() {
            Some(TypeSpec::Struct(named)) => {
                let found = self.0.and_then(|types| types.structs.get(&named.name));
                let members = &found.ok_or_else(|| missing(&named.name))?.members;
                let depth = deeper()?;
                let shapes = members.iter().map(|member| match &member.type_spec {
                    Some(spec) => self.shape_within(spec, depth),
                    None => Err(format!("the type of {} is unset in P4Info", member.name)),
                });
                Ok(Shape::Struct(shapes.collect::<Result<_, _>>()?))
            }
            Some(TypeSpec::Tuple(tuple)) => {
                let depth = deeper()?;
                let members = tuple.members.iter();
                let shapes = members.map(|spec| self.shape_within(spec, depth));
                Ok(Shape::Tuple(shapes.collect::<Result<_, _>>()?))
            }
            Some(TypeSpec::Header(named)) => {
                let found = self.0.and_then(|types| types.headers.get(&named.name));
                let members = &found.ok_or_else(|| missing(&named.name))?.members;
                let cells = members.iter().map(|member| {
                    let cell = member.type_spec.as_ref().and_then(bitstring);
                    cell.and_then(narrow)
                        .ok_or_else(|| format!("the type of field {} is unsupported", member.name))
                });
                Ok(Shape::Header(cells.collect::<Result<_, _>>()?))
            }
            _ => self
                .cell(spec)
                .and_then(narrow)
                .map(|(cell, width)| Shape::Cell(cell, width))
                .ok_or_else(|| "a part of it has a type that is not supported".to_owned()),
        }
    }
}

impl Shape {
    /// How many values the digest has.
    pub fn cells(&self) -> usize {
        match self {
            Shape::Cell(..) => 1,
            Shape::Struct(parts) | Shape::Tuple(parts) => parts.iter().map(Shape::cells).sum(),
            Shape::Header(cells) => cells.len(),
        }
    }
}

fn narrow((cell, bits): (CellType, i32)) -> Option<(CellType, u16)> {
    Some((cell, u16::try_from(bits).ok()?))
}

fn bitstring(bits: &config::P4BitstringLikeTypeSpec) -> Option<(CellType, i32)> {
    match bits.type_spec.as_ref()? {
        Bitstring::Bit(bit) => Some((CellType::Bits, bit.bitwidth)),
        Bitstring::Int(int) => Some((CellType::Signed, int.bitwidth)),
        Bitstring::Varbit(_) => None,
    }
}
