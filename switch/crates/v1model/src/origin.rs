// SPDX-License-Identifier: Apache-2.0
//! Where a program comes from.

use serde_json::Value;

/// What a compiled program says of itself; empty where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The P4 source that the compiler was given.
    pub source: String,
    /// Which compiler.
    pub compiler: String,
    /// The version of the JSON format, as `2.23`.
    pub format: String,
}

impl Origin {
    /// From the members `program` and `__meta__`.
    pub(crate) fn new(program: &Value, meta: &Value) -> Origin {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let numbers = meta["version"].as_array().map(Vec::as_slice);
        let numbers = numbers.unwrap_or_default().iter().map(Value::to_string);
        Origin {
            source: text(program),
            compiler: text(&meta["compiler"]),
            format: numbers.collect::<Vec<_>>().join("."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn as_p4c_writes_it_and_damaged() {
        let meta = json!({"version": [2, 23], "compiler": "https://github.com/p4lang/p4c"});
        let origin = Origin::new(&json!("cm.p4"), &meta);
        assert_eq!(
            (origin.source.as_str(), origin.format.as_str()),
            ("cm.p4", "2.23")
        );
        assert_eq!(origin.compiler, "https://github.com/p4lang/p4c");
        assert_eq!(Origin::new(&json!(3), &json!([])), Origin::default());
    }
}
