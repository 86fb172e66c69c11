// SPDX-License-Identifier: Apache-2.0
//! Values from outside, by their keys: what a topology file, a request or a caller in another
//! language says of a channel.

use std::collections::BTreeMap;

/// A value of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A whole number.
    Number(u64),
    /// Whether something is.
    Switch(bool),
    /// One of several words.
    Word(String),
    /// Nothing: of `capacity`, which a channel need not have.
    Absent,
}

/// What is to be different, by key.
pub type Settings = BTreeMap<String, Setting>;

/// Values as a field has them.
pub(crate) struct Reader<'a> {
    pub key: &'a str,
    pub setting: &'a Setting,
}

impl Reader<'_> {
    pub fn number<T: TryFrom<u64>>(&self) -> Result<T, String> {
        let Setting::Number(number) = self.setting else {
            return Err(self.wrong("a whole number"));
        };
        T::try_from(*number).map_err(|_| format!("{} is {number}, which is too much", self.key))
    }

    pub fn switch(&self) -> Result<bool, String> {
        match self.setting {
            Setting::Switch(switch) => Ok(*switch),
            Setting::Number(number @ 0..=1) => Ok(*number == 1),
            _ => Err(self.wrong("true or false")),
        }
    }

    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, String> {
        let found = match self.setting {
            Setting::Word(word) => words.iter().find(|(known, _)| known == word),
            _ => None,
        };
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>();
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| self.wrong(&format!("one of {}", known().join(", "))))
    }

    fn wrong(&self, right: &str) -> String {
        let given = match self.setting {
            Setting::Number(number) => number.to_string(),
            Setting::Switch(switch) => switch.to_string(),
            Setting::Word(word) => format!("\"{word}\""),
            Setting::Absent => "nothing".to_owned(),
        };
        format!("{} has to be {right}, not {given}", self.key)
    }
}
