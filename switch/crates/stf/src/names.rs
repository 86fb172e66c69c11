// SPDX-License-Identifier: Apache-2.0
//! Finds the program's longer name that a test's name stands for: first the same
//! name, then one that ends in its components, then one that ends in its letters
//! (p4c's driver has only the last of these rules).

use crate::error::Error;
use crate::script::Name;

/// Which of the candidates is meant.
pub(crate) fn resolve<'a, T: Copy>(
    kind: &str,
    name: &Name,
    candidates: impl Iterator<Item = (T, &'a str)> + Clone,
) -> Result<T, Error> {
    let wanted = spelled(&name.text);
    let rules: [fn(&str, &str) -> bool; 3] = [
        |have, wanted| have == wanted,
        |have, wanted| {
            have.strip_suffix(wanted)
                .is_some_and(|front| front.ends_with('.'))
        },
        |have, wanted| have.ends_with(wanted),
    ];
    for rule in rules {
        let mut fitting = candidates.clone().filter(|(_, have)| rule(have, &wanted));
        if let Some((found, first)) = fitting.next() {
            return match fitting.find(|(_, other)| *other != first) {
                None => Ok(found),
                Some((_, second)) => Err(at(
                    name,
                    format!(
                        "{kind} `{}` may be {first} or {second}; write more of the name",
                        name.text
                    ),
                )),
            };
        }
    }
    Err(unknown(kind, name, candidates.map(|(_, have)| have)))
}

/// Which key field is meant: as [`resolve`], and `valid` for the validity of
/// a header, as p4c's driver has it.
pub(crate) fn resolve_field<'a>(
    table: &str,
    name: &Name,
    fields: impl Iterator<Item = (usize, &'a str)> + Clone,
) -> Result<usize, Error> {
    let text = spelled(&name.text);
    let mut spellings = vec![
        text.clone(),
        format!("{text}$"),
        format!("{text}.$valid$"),
        format!("{text}.isValid()"),
    ];
    for end in ["valid", "$valid", "isValid"] {
        if let Some(front) = text.strip_suffix(end) {
            if front.is_empty() || front.ends_with('.') {
                spellings.push(format!("{front}$valid$"));
                spellings.push(format!("{front}isValid()"));
            }
        }
    }
    for wanted in &spellings {
        if let Some((at, _)) = fields.clone().find(|(_, have)| spelled(have) == *wanted) {
            return Ok(at);
        }
    }
    for wanted in &spellings {
        let suffix = format!(".{wanted}");
        let found = fields
            .clone()
            .find(|(_, have)| spelled(have).ends_with(&suffix));
        if let Some((at, _)) = found {
            return Ok(at);
        }
    }
    let kind = format!("key field of table {table}");
    Err(unknown(&kind, name, fields.map(|(_, have)| have)))
}

/// `stack$0.field` is `stack[0].field`.
fn spelled(name: &str) -> String {
    let mut spelled = String::with_capacity(name.len() + 2);
    let mut rest = name;
    while let Some(at) = rest.find('$') {
        let behind = &rest[at + 1..];
        let digits = behind
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(behind.len());
        spelled.push_str(&rest[..at]);
        if digits == 0 {
            spelled.push('$');
        } else {
            spelled.push('[');
            spelled.push_str(&behind[..digits]);
            spelled.push(']');
        }
        rest = &behind[digits..];
    }
    spelled.push_str(rest);
    spelled
}

pub(crate) fn at(name: &Name, message: String) -> Error {
    Error {
        line: name.line,
        column: name.column,
        message,
    }
}

fn unknown<'a>(kind: &str, name: &Name, candidates: impl Iterator<Item = &'a str>) -> Error {
    let mut have: Vec<&str> = candidates.collect();
    have.sort_unstable();
    have.dedup();
    const MOST: usize = 12;
    let rest = have.len().saturating_sub(MOST);
    have.truncate(MOST);
    let mut message = format!("there is no {kind} `{}`", name.text);
    if have.is_empty() {
        message.push_str(", nor any other");
    } else {
        message.push_str("; there is ");
        message.push_str(&have.join(", "));
    }
    if rest > 0 {
        message.push_str(&format!(" and {rest} more"));
    }
    at(name, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name {
            text: text.to_owned(),
            line: 3,
            column: 5,
        }
    }

    fn find(text: &str, have: &[&str]) -> Result<usize, String> {
        resolve("table", &name(text), have.iter().copied().enumerate()).map_err(|e| e.to_string())
    }

    #[test]
    fn the_last_components_are_enough() {
        let have = ["MyIngress.ipv4", "MyEgress.ipv4_out", "MyEgress.my_ipv4"];
        assert_eq!(find("ipv4", &have), Ok(0));
        assert_eq!(find("MyEgress.my_ipv4", &have), Ok(2));
        assert_eq!(find("_out", &have), Ok(1));
        assert_eq!(
            find("v6", &have),
            Err(
                "line 3, column 5: there is no table `v6`; there is MyEgress.ipv4_out, \
                 MyEgress.my_ipv4, MyIngress.ipv4"
                    .into()
            )
        );
        let error = find("t", &["a.t", "b.t"]).unwrap_err();
        assert!(error.contains("may be a.t or b.t"), "{error}");
    }

    #[test]
    fn fields_have_more_spellings() {
        let have = [
            "hdr.extra[0].h",
            "hdr.data.$valid$",
            "data",
            "hdr.b.isValid()",
        ];
        let find = |text| resolve_field("t", &name(text), have.iter().copied().enumerate()).ok();
        assert_eq!(find("extra$0.h"), Some(0));
        assert_eq!(find("extra[0].h"), Some(0));
        assert_eq!(find("data.$valid"), Some(1));
        assert_eq!(find("data"), Some(2));
        assert_eq!(find("hdr.data"), Some(1));
        assert_eq!(find("b"), Some(3));
        assert_eq!(find("b.valid"), Some(3));
        assert_eq!(find("c"), None);
    }
}
