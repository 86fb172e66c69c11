// SPDX-License-Identifier: Apache-2.0
//! Reads numbers as a test writes them.

/// A number, in which `*` digits may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// As it was written.
    pub text: String,
    /// The value, `*` digits as 0; `None` where it needs more than 128 bits.
    pub value: Option<u128>,
    /// The bits of the digits that are not `*`, of those that fit into 128.
    pub mask: u128,
    /// Bits that the digits which are not `*` stand for, whatever their order;
    /// `None` where the number is decimal.
    pub prefix_bits: Option<u32>,
    /// It has a `*`.
    pub wild: bool,
}

impl Literal {
    /// Reads `0x`, `0b`, `0o` or decimal digits.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse(text: &str) -> Result<Literal, String> {
        let prefixed = |lower: &str, upper: &str| {
            text.strip_prefix(lower)
                .or_else(|| text.strip_prefix(upper))
        };
        let (bits, digits) = if let Some(rest) = prefixed("0x", "0X") {
            (4, rest)
        } else if let Some(rest) = prefixed("0b", "0B") {
            (1, rest)
        } else if let Some(rest) = prefixed("0o", "0O") {
            (3, rest)
        } else {
            return Self::decimal(text);
        };
        if digits.is_empty() {
            return Err(format!("`{text}` has no digits"));
        }
        let mut literal = Literal {
            text: text.to_owned(),
            value: Some(0),
            mask: 0,
            prefix_bits: Some(0),
            wild: false,
        };
        let ones = (1u128 << bits) - 1;
        let mut prefix = 0u32;
        for digit in digits.chars() {
            let (value, mask) = if digit == '*' {
                literal.wild = true;
                (0, 0)
            } else {
                let Some(value) = digit.to_digit(1 << bits) else {
                    return Err(format!("`{digit}` is no digit of `{text}`"));
                };
                prefix = prefix.saturating_add(bits);
                (u128::from(value), ones)
            };
            literal.value = literal
                .value
                .filter(|v| v.leading_zeros() >= bits)
                .map(|v| v << bits | value);
            literal.mask = literal.mask << bits | mask;
        }
        literal.prefix_bits = Some(prefix);
        Ok(literal)
    }

    fn decimal(text: &str) -> Result<Literal, String> {
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!(
                "`{text}` is no number; write it decimal, or with 0x, 0b or 0o in front"
            ));
        }
        Ok(Literal {
            text: text.to_owned(),
            value: text.parse().ok(),
            mask: u128::MAX,
            prefix_bits: None,
            wild: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_value_and_wild_digits() {
        let literal = Literal::parse("0x0a**").unwrap();
        assert_eq!((literal.value, literal.mask), (Some(0xa00), 0xff00));
        assert_eq!((literal.prefix_bits, literal.wild), (Some(8), true));
        let literal = Literal::parse("0b1*0").unwrap();
        assert_eq!((literal.value, literal.mask), (Some(4), 5));
        assert_eq!(Literal::parse("0O17").unwrap().value, Some(15));
        assert_eq!(Literal::parse("017").unwrap().value, Some(17));
        let wide = format!("0x1{}", "0".repeat(32));
        assert_eq!(Literal::parse(&wide).unwrap().value, None);
        let zeros = format!("0x0{}", "f".repeat(32));
        assert_eq!(Literal::parse(&zeros).unwrap().value, Some(u128::MAX));
    }

    #[test]
    fn refuses_what_is_no_number() {
        for text in ["", "0x", "0b2", "0o8", "12a", "0xg", "*1"] {
            assert!(Literal::parse(text).is_err(), "{text}");
        }
    }
}
