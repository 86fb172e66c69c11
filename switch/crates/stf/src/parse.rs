// SPDX-License-Identifier: Apache-2.0
//! From tokens to statements.

use crate::error::Error;
use crate::literal::Literal;
use crate::script::*;
use crate::token::{KEYWORDS, Kind, Token, tokenize};

/// Reads a test.
///
/// # Errors
/// The first place that is no STF, and what was expected there.
pub fn parse(text: &str) -> Result<Script, Error> {
    let tokens = tokenize(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
    };
    let mut script = Script::default();
    while parser.at < tokens.len() {
        script.statements.push(parser.statement()?);
    }
    Ok(script)
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Parser<'a> {
    /// The next token of this statement.
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens
            .get(self.at)
            .copied()
            .filter(|token| !matches!(token.kind, Kind::Keyword(_)))
    }

    fn peek_symbol(&self, symbol: &str) -> bool {
        self.peek()
            .is_some_and(|t| t.kind == Kind::Symbol && t.text == symbol)
    }

    fn peek_kind(&self, kind: Kind) -> bool {
        self.peek().is_some_and(|t| t.kind == kind)
    }

    /// Takes the symbol if it is next.
    fn symbol(&mut self, symbol: &str) -> bool {
        let there = self.peek_symbol(symbol);
        self.at += usize::from(there);
        there
    }

    /// "expected X", at the next token or behind the last one.
    fn expected(&self, what: &str) -> Error {
        match self.peek() {
            Some(token) => error(token, format!("expected {what}, not `{}`", token.text)),
            None => {
                let last = self.tokens[self.at - 1];
                let length = u32::try_from(last.text.chars().count()).unwrap_or(u32::MAX);
                Error {
                    line: last.line,
                    column: last.column.saturating_add(length),
                    message: format!("expected {what}, but the statement ends here"),
                }
            }
        }
    }

    fn need(&mut self, symbol: &str) -> Result<(), Error> {
        if self.symbol(symbol) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{symbol}`")))
        }
    }

    fn take(&mut self, kind: Kind, what: &str) -> Result<Token<'a>, Error> {
        let token = self.peek().filter(|t| t.kind == kind);
        let token = token.ok_or_else(|| self.expected(what))?;
        self.at += 1;
        Ok(token)
    }

    fn statement(&mut self) -> Result<Statement, Error> {
        let start = self.tokens[self.at];
        let Kind::Keyword(keyword) = start.kind else {
            return Err(unknown_command(start));
        };
        self.at += 1;
        let command = self.command(keyword)?;
        match self.peek() {
            None => Ok(Statement {
                line: start.line,
                command,
            }),
            Some(token) if token.first => Err(unknown_command(token)),
            Some(_) => Err(self.expected(&format!("the end of `{keyword}`"))),
        }
    }

    fn command(&mut self, keyword: &str) -> Result<Command, Error> {
        Ok(match keyword {
            "packet" => self.packet()?,
            "expect" => self.expect()?,
            "no_packet" => Command::NoPacket,
            "wait" => {
                // Some writers of tests give a time; it is not needed here.
                if self.peek_kind(Kind::Number) {
                    self.number("a time")?;
                }
                Command::Wait
            }
            "add" => self.add()?,
            "setdefault" | "table_set_default" => Command::SetDefault {
                table: self.name("a table")?,
                call: self.call()?,
            },
            "remove" => {
                let all = self.take(Kind::Word, "`all`")?;
                if !all.text.eq_ignore_ascii_case("all") {
                    self.at -= 1;
                    return Err(self.expected("`all`"));
                }
                Command::RemoveAll
            }
            "check_counter" => self.check_counter()?,
            "counter_read" => Command::CounterRead {
                counter: self.name("a counter")?,
                index: self.number("an index")?,
            },
            "counter_write" => Command::CounterWrite {
                counter: self.name("a counter")?,
                index: self.number("an index")?,
                packets: self.number("the number of packets")?,
                bytes: self.number("the number of bytes")?,
            },
            "register_read" => Command::RegisterRead {
                register: self.name("a register")?,
                index: self.number("an index")?,
            },
            "register_write" => Command::RegisterWrite {
                register: self.name("a register")?,
                index: self.number("an index")?,
                value: self.number("a value")?,
            },
            "register_reset" => Command::RegisterReset {
                register: self.name("a register")?,
            },
            "meter_get_rates" => Command::MeterGetRates {
                meter: self.name("a meter")?,
                index: self.number("an index")?,
            },
            "meter_set_rates" => Command::MeterSetRates {
                meter: self.name("a meter")?,
                index: Some(self.number("an index")?),
                rates: self.rates()?,
            },
            "meter_array_set_rates" => Command::MeterSetRates {
                meter: self.name("a meter")?,
                index: None,
                rates: self.rates()?,
            },
            "mc_mgrp_create" => Command::GroupCreate {
                group: self.number("a multicast group")?,
            },
            "mc_node_create" => Command::NodeCreate {
                rid: self.number("a replication id")?,
                ports: self.ports()?,
            },
            "mc_node_update" => Command::NodeUpdate {
                node: self.number("a node")?,
                ports: self.ports()?,
            },
            "mc_node_associate" => Command::NodeAssociate {
                group: self.number("a multicast group")?,
                node: self.number("a node")?,
            },
            "mirroring_add" => Command::MirrorAdd {
                session: self.number("a session")?,
                port: self.number("a port")?,
            },
            "mirroring_add_mc" => Command::MirrorAddGroup {
                session: self.number("a session")?,
                group: self.number("a multicast group")?,
            },
            "mirroring_delete" => Command::MirrorDelete {
                session: self.number("a session")?,
            },
            _ => Command::MirrorGet {
                session: self.number("a session")?,
            },
        })
    }

    // --- frames ------------------------------------------------------------

    fn port(&mut self) -> Result<u16, Error> {
        let token = self.take(Kind::Data, "a port")?;
        token.text.parse().map_err(|_| {
            error(
                token,
                format!("`{}` is no port; expected 0 to 65535", token.text),
            )
        })
    }

    /// The digits up to the end, each with its place.
    fn digits(&mut self) -> Vec<(u8, Token<'a>)> {
        let mut digits = Vec::new();
        while let Some(mut token) = self.peek().filter(|t| t.kind == Kind::Data) {
            self.at += 1;
            for digit in token.text.chars() {
                let byte = u8::try_from(digit).unwrap_or(b'?');
                digits.push((byte.to_ascii_uppercase(), token));
                token.column += 1;
            }
        }
        digits
    }

    fn packet(&mut self) -> Result<Command, Error> {
        let port = self.port()?;
        if self.peek().is_none() {
            return Err(self.expected("the packet's bytes"));
        }
        let digits = self.digits();
        let mut nibbles = Vec::with_capacity(digits.len());
        for (digit, token) in digits {
            match char::from(digit).to_digit(16) {
                Some(nibble) => nibbles.push(nibble as u8),
                None => return Err(bad_digit(token, digit, "a hexadecimal digit")),
            }
        }
        if nibbles.len() % 2 == 1 {
            self.at -= 1;
            let last = self.tokens[self.at];
            return Err(error(
                last,
                format!("the packet has {} digits, which is odd", nibbles.len()),
            ));
        }
        let data = nibbles.chunks(2).map(|n| n[0] << 4 | n[1]).collect();
        Ok(Command::Packet { port, data })
    }

    fn expect(&mut self) -> Result<Command, Error> {
        let port = self.port()?;
        let digits = self.digits();
        if digits.is_empty() {
            return Ok(Command::Expect {
                port,
                pattern: None,
            });
        }
        let mut pattern = Pattern {
            digits: Vec::with_capacity(digits.len()),
            exact: false,
        };
        for (digit, token) in digits {
            match digit {
                _ if pattern.exact => return Err(bad_digit(token, digit, "nothing behind `$`")),
                b'$' => pattern.exact = true,
                b'*' | b'0'..=b'9' | b'A'..=b'F' => pattern.digits.push(digit),
                _ => {
                    let what = "a hexadecimal digit, `*` or `$`";
                    return Err(bad_digit(token, digit, what));
                }
            }
        }
        Ok(Command::Expect {
            port,
            pattern: Some(pattern),
        })
    }

    // --- names and numbers -------------------------------------------------

    fn name(&mut self, what: &str) -> Result<Name, Error> {
        let first = self.take(Kind::Word, what)?;
        let mut text = first.text.to_owned();
        loop {
            if self.symbol(".") {
                let part = self.take(Kind::Word, "a name behind the dot")?;
                text.push('.');
                text.push_str(part.text);
            } else if self.symbol("[") {
                let index = self.take(Kind::Number, "an index")?;
                if !index.text.bytes().all(|b| b.is_ascii_digit()) {
                    self.at -= 1;
                    return Err(self.expected("a decimal index"));
                }
                self.need("]")?;
                text.push('[');
                text.push_str(index.text);
                text.push(']');
            } else {
                break;
            }
        }
        Ok(Name {
            text,
            line: first.line,
            column: first.column,
        })
    }

    fn number(&mut self, what: &str) -> Result<Number, Error> {
        let token = self.take(Kind::Number, what)?;
        let digits = token.text.strip_prefix('-');
        let literal = Literal::parse(digits.unwrap_or(token.text)).map_err(|e| error(token, e))?;
        Ok(Number {
            literal,
            negative: digits.is_some(),
            line: token.line,
            column: token.column,
        })
    }

    fn ports(&mut self) -> Result<Vec<Number>, Error> {
        let mut ports = Vec::new();
        while self.peek_kind(Kind::Number) {
            ports.push(self.number("a port")?);
        }
        if self.peek_symbol("|") {
            return Err(self.expected("ports only, for there are no lags here"));
        }
        Ok(ports)
    }

    fn rates(&mut self) -> Result<Vec<MeterRate>, Error> {
        let mut rates = Vec::new();
        while rates.is_empty() || self.peek_kind(Kind::Number) {
            let whole = self.take(Kind::Number, "rate:burst")?;
            let mut text = whole.text.to_owned();
            if self.symbol(".") {
                let fraction = self.take(Kind::Number, "the digits behind the point")?;
                text = format!("{text}.{}", fraction.text);
            }
            let per_microsecond = text
                .parse::<f64>()
                .ok()
                .filter(|rate| rate.is_finite() && *rate >= 0.0)
                .ok_or_else(|| error(whole, format!("`{text}` is no rate")))?;
            self.need(":")?;
            let burst = self.number("a burst")?;
            let burst = small(&burst, "burst")?;
            rates.push(MeterRate {
                per_microsecond,
                burst,
            });
        }
        Ok(rates)
    }

    // --- tables and counters -----------------------------------------------

    fn add(&mut self) -> Result<Command, Error> {
        let table = self.name("a table")?;
        let priority = match self.peek_kind(Kind::Number) {
            true => Some(self.number("a priority")?),
            false => None,
        };
        let mut key = Vec::new();
        let call = loop {
            let name = self.name("a key field or an action")?;
            if self.symbol(":") {
                let value = self.value()?;
                key.push(KeyField { name, value });
            } else if self.peek_symbol("(") {
                break self.arguments(name)?;
            } else {
                return Err(self.expected("`:` behind a key field or `(` behind an action"));
            }
        };
        let handle = match self.symbol("=") {
            true => Some(self.name("a name for the entry")?),
            false => None,
        };
        Ok(Command::Add {
            table,
            priority,
            key,
            call,
            handle,
        })
    }

    fn value(&mut self) -> Result<Value, Error> {
        if self.peek().is_some_and(|t| t.text == "*") {
            self.at += 1;
            return Ok(Value::Any);
        }
        let first = self.number("a value")?;
        Ok(if self.symbol("/") {
            Value::Prefix(first, self.number("a prefix length")?)
        } else if self.symbol("&&&") {
            Value::Masked(first, self.number("a mask")?)
        } else if self.symbol("->") || self.symbol("..") {
            Value::Range(first, self.number("the upper end of the range")?)
        } else {
            Value::Number(first)
        })
    }

    fn call(&mut self) -> Result<Call, Error> {
        let name = self.name("an action")?;
        self.arguments(name)
    }

    fn arguments(&mut self, name: Name) -> Result<Call, Error> {
        self.need("(")?;
        let mut args = Vec::new();
        if !self.symbol(")") {
            loop {
                let parameter = self.name("a parameter or `)`")?;
                self.need(":")?;
                args.push((parameter, self.number("a value")?));
                if self.symbol(")") {
                    break;
                }
                if !self.symbol(",") {
                    return Err(self.expected("`,` or `)`"));
                }
            }
        }
        Ok(Call { name, args })
    }

    fn check_counter(&mut self) -> Result<Command, Error> {
        let counter = self.name("a counter")?;
        self.need("(")?;
        let index = match self.peek() {
            Some(token) if token.kind == Kind::Word => {
                CounterIndex::Handle(self.name("the name of an entry")?)
            }
            _ => CounterIndex::Index(self.number("an index or the name of an entry")?),
        };
        self.need(")")?;
        let check = match self.peek() {
            None => None,
            Some(_) => Some(self.condition()?),
        };
        Ok(Command::CheckCounter {
            counter,
            index,
            check,
        })
    }

    fn condition(&mut self) -> Result<(CounterUnit, Comparison, Number), Error> {
        let what = "`packets` or `bytes`";
        let word = self.take(Kind::Word, what)?;
        let unit = match word.text.to_ascii_lowercase().as_str() {
            "packets" => CounterUnit::Packets,
            "bytes" => CounterUnit::Bytes,
            _ => {
                self.at -= 1;
                return Err(self.expected(what));
            }
        };
        let comparison = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ]
        .into_iter()
        .find(|c| self.peek_symbol(c.symbol()))
        .ok_or_else(|| self.expected("`==`, `!=`, `<`, `<=`, `>` or `>=`"))?;
        self.at += 1;
        Ok((unit, comparison, self.number("a number")?))
    }
}

/// A number that must fit into 64 bits.
pub(crate) fn small(number: &Number, what: &str) -> Result<u64, Error> {
    let value = number.literal.value.and_then(|v| u64::try_from(v).ok());
    match value {
        Some(value) if !number.negative && !number.literal.wild => Ok(value),
        _ => Err(Error {
            line: number.line,
            column: number.column,
            message: format!(
                "the {what} `{}{}` is not a number of up to 64 bits",
                if number.negative { "-" } else { "" },
                number.literal.text
            ),
        }),
    }
}

fn error(token: Token<'_>, message: String) -> Error {
    Error {
        line: token.line,
        column: token.column,
        message,
    }
}

fn bad_digit(token: Token<'_>, digit: u8, what: &str) -> Error {
    error(
        token,
        format!("expected {what}, not `{}`", char::from(digit)),
    )
}

fn unknown_command(token: Token<'_>) -> Error {
    error(
        token,
        format!(
            "`{}` is no statement; expected one of {}",
            token.text,
            KEYWORDS.join(", ")
        ),
    )
}
