// SPDX-License-Identifier: Apache-2.0
//! Splits a test into tokens. What follows `packet` and `expect` is digits,
//! not names, and it is the first word of a line that decides.

use crate::error::Error;

/// The words that start a statement.
pub(crate) const KEYWORDS: [&str; 25] = [
    "add",
    "check_counter",
    "counter_read",
    "counter_write",
    "expect",
    "mc_mgrp_create",
    "mc_node_associate",
    "mc_node_create",
    "mc_node_update",
    "meter_array_set_rates",
    "meter_get_rates",
    "meter_set_rates",
    "mirroring_add",
    "mirroring_add_mc",
    "mirroring_delete",
    "mirroring_get",
    "no_packet",
    "packet",
    "register_read",
    "register_reset",
    "register_write",
    "remove",
    "setdefault",
    "table_set_default",
    "wait",
];

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first word of a statement; in `text` as it was written.
    Keyword(&'static str),
    /// A name, or one in quotation marks (which are not in `text`).
    Word,
    /// Begins with a digit or `*`.
    Number,
    /// Digits of a frame, or its port.
    Data,
    /// Punctuation.
    Symbol,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub line: u32,
    pub column: u32,
    /// The first of its line.
    pub first: bool,
}

const SYMBOLS: [&str; 19] = [
    "&&&", "->", "..", "==", "!=", "<=", ">=", ":", ",", ".", "[", "]", "(", ")", "/", "=", "<",
    ">", "|",
];

/// All tokens of a test.
pub(crate) fn tokenize(text: &str) -> Result<Vec<Token<'_>>, Error> {
    let mut tokens = Vec::new();
    let mut in_data = false;
    for (number, line) in text.lines().enumerate() {
        let mut cursor = Cursor {
            text: line.trim_end(),
            at: 0,
            line: u32::try_from(number + 1).unwrap_or(u32::MAX),
            first: true,
        };
        cursor.skip_space();
        if cursor.done() {
            continue;
        }
        if let Some(keyword) = cursor.keyword() {
            in_data = matches!(keyword, "packet" | "expect");
            let length = keyword.len();
            tokens.push(cursor.take(Kind::Keyword(keyword), length));
        } else if in_data && !cursor.all_digits() {
            in_data = false;
        }
        loop {
            cursor.skip_space();
            if cursor.done() {
                break;
            }
            tokens.push(if in_data {
                cursor.data()
            } else {
                cursor.token()?
            });
        }
    }
    Ok(tokens)
}

/// Within one line.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    first: bool,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// At the end, or at a comment.
    fn done(&self) -> bool {
        let rest = self.rest();
        rest.is_empty() || rest.starts_with('#') || rest.starts_with("//")
    }

    fn column(&self) -> u32 {
        u32::try_from(self.text[..self.at].chars().count() + 1).unwrap_or(u32::MAX)
    }

    fn take(&mut self, kind: Kind, length: usize) -> Token<'a> {
        let token = Token {
            kind,
            text: &self.rest()[..length],
            line: self.line,
            column: self.column(),
            first: self.first,
        };
        self.first = false;
        self.at += length;
        token
    }

    /// Bytes of the characters from here on that are like this.
    fn span(&self, like: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        rest.find(|c| !like(c)).unwrap_or(rest.len())
    }

    fn keyword(&self) -> Option<&'static str> {
        let word = &self.rest()[..self.span(in_word)];
        KEYWORDS
            .into_iter()
            .find(|keyword| keyword.eq_ignore_ascii_case(word))
    }

    /// Nothing but digits of a frame up to the end or a comment.
    fn all_digits(&self) -> bool {
        let rest = self.rest();
        let rest = rest.split('#').next().unwrap_or_default();
        let rest = rest.split("//").next().unwrap_or_default();
        rest.chars()
            .all(|c| c.is_ascii_hexdigit() || c.is_whitespace() || matches!(c, '*' | '$'))
    }

    fn data(&mut self) -> Token<'a> {
        let length = self.span(|c| !c.is_whitespace() && c != '#' && c != '/');
        // A single slash is no comment; it is refused as a digit.
        self.take(Kind::Data, length.max(1))
    }

    fn token(&mut self) -> Result<Token<'a>, Error> {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or(' ');
        if first == '"' {
            return self.quoted();
        }
        if starts_word(first) {
            let length = self.span(in_word);
            return Ok(self.take(Kind::Word, length));
        }
        let signed = first == '-' && !rest.starts_with("->");
        if first.is_ascii_digit() || first == '*' || signed {
            let length = 1 + rest[1..]
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '*' || c == '_'))
                .unwrap_or(rest.len() - 1);
            return Ok(self.take(Kind::Number, length));
        }
        match SYMBOLS.into_iter().find(|s| rest.starts_with(s)) {
            Some(symbol) => Ok(self.take(Kind::Symbol, symbol.len())),
            None => Err(Error {
                line: self.line,
                column: self.column(),
                message: format!("`{first}` has no meaning here"),
            }),
        }
    }

    fn quoted(&mut self) -> Result<Token<'a>, Error> {
        let inside = &self.rest()[1..];
        let Some(length) = inside.find('"').filter(|&length| length > 0) else {
            return Err(Error {
                line: self.line,
                column: self.column(),
                message: "a name in quotation marks must end on its line and not be empty".into(),
            });
        };
        self.at += 1;
        let mut token = self.take(Kind::Word, length);
        token.column -= 1;
        self.at += 1;
        Ok(token)
    }
}

fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}
