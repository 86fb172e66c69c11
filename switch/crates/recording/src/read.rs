// SPDX-License-Identifier: Apache-2.0
//! Reads records from bytes. Damage ends the reading with one sentence.

use crate::format::{
    End, Header, Input, LONGEST_PAUSE, LONGEST_RECORD, MAGIC, Output, Place, Program, Reason,
    Record, Sent, Told, VERSION, tag,
};
use device::DropPlace;
use grpc_services::journal::Work;
use std::fmt;
use std::io::{self, Read};

/// Times end before that, ns: 146 years.
const LAST_TIME: u64 = 1 << 62;
/// Frames or bytes that one record may count.
const MOST_COUNTED: u64 = 1 << 32;
/// Ports that a device may have.
const MOST_PORTS: u64 = 65_536;

/// A file is no recording, or not one any more. Displayed as what is wrong with it and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// In words.
    pub words: String,
    /// Bytes of the file in front of it.
    pub offset: u64,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.words)
    }
}

impl std::error::Error for Damaged {}

/// Reads a recording from its beginning, in small pieces: give it something buffered.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// Bytes read so far.
    offset: u64,
    last: u64,
    body: Vec<u8>,
    is_over: bool,
}

/// What is left of one record.
struct Fields<'a> {
    rest: &'a [u8],
    last: &'a mut u64,
}

type Field<T> = Result<T, String>;

fn ends_early() -> String {
    "the record is shorter than what it has to say".into()
}

impl Fields<'_> {
    fn byte(&mut self) -> Field<u8> {
        let (&first, rest) = self.rest.split_first().ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(first)
    }

    fn number(&mut self) -> Field<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number has more than 64 bits".into())
    }

    fn flag(&mut self) -> Field<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("a flag is {other} and neither 0 nor 1")),
        }
    }

    fn port(&mut self) -> Field<u16> {
        let port = self.number()?;
        u16::try_from(port).map_err(|_| format!("port {port} is more than 65535"))
    }

    fn time(&mut self) -> Field<u64> {
        let coded = self.number()?;
        let ahead = (coded >> 1) as i64 ^ -((coded & 1) as i64);
        if ahead.unsigned_abs() > LONGEST_PAUSE {
            return Err("a time is more than a year from the one before".into());
        }
        let time = self.last.checked_add_signed(ahead);
        let time = time.filter(|&time| time < LAST_TIME);
        *self.last = time.ok_or("a time is below 0 or above 2^62 ns")?;
        Ok(*self.last)
    }

    fn counted(&mut self) -> Field<u64> {
        let counted = self.number()?;
        if counted > MOST_COUNTED {
            return Err(format!("{counted} is more than one record can count"));
        }
        Ok(counted)
    }

    fn optional(&mut self) -> Field<Option<u64>> {
        self.flag()?.then(|| self.number()).transpose()
    }

    fn hash(&mut self) -> Field<u64> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn string(&mut self) -> Field<Vec<u8>> {
        let length = self.number()?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(bytes.to_vec())
    }

    fn text(&mut self) -> Field<String> {
        String::from_utf8(self.string()?).map_err(|_| "a text is not UTF-8".into())
    }

    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.rest).to_vec()
    }

    fn place(&mut self) -> Field<Place> {
        Ok(Place {
            steps: self.number()?,
            until: self.time()?,
        })
    }

    fn header(&mut self) -> Field<Header> {
        Ok(Header {
            version: self.text()?,
            device_id: self.number()?,
            cpu_port: match self.optional()? {
                Some(port) => Some(u16::try_from(port).map_err(|_| "the CPU port is no port")?),
                None => None,
            },
            drop_port: self.port()?,
            seed: self.number()?,
            lateness_bound: self.number()?,
            bmv2_quirks: self.flag()?,
            ports: {
                let count = self.number()?;
                if count > MOST_PORTS {
                    return Err(format!("there are {count} ports, more than {MOST_PORTS}"));
                }
                (0..count).map(|_| self.port()).collect::<Field<_>>()?
            },
            program: match self.flag()? {
                true => Some(Program {
                    at: self.time()?,
                    json: self.string()?,
                    p4info: self.flag()?.then(|| self.string()).transpose()?,
                }),
                false => None,
            },
        })
    }

    fn record(&mut self, tag: u8) -> Field<Record> {
        Ok(match tag {
            tag::SENT | tag::TOLD | tag::DROPPED => Record::Output(self.output(tag)?),
            tag::END => Record::End(End {
                reason: match self.byte()? {
                    0 => Reason::Stopped,
                    1 => Reason::Limit,
                    2 => Reason::Overrun,
                    other => return Err(format!("the end has the unknown reason {other}")),
                },
                now: self.time()?,
                place: self.place()?,
                state: self.flag()?.then(|| self.hash()).transpose()?,
            }),
            _ => Record::Input(self.input(tag)?),
        })
    }

    fn output(&mut self, tag: u8) -> Field<Output> {
        Ok(match tag {
            tag::SENT => Output::Sent(Sent {
                at: self.time()?,
                port: self.port()?,
                paced: self.flag()?,
                length: self.number()?,
                hash: self.hash()?,
            }),
            tag::TOLD => Output::Told {
                at: self.time()?,
                told: match self.flag()? {
                    false => Told::PacketIn,
                    true => Told::Event,
                },
                taken: self.flag()?,
                hash: self.hash()?,
            },
            _ => Output::Dropped {
                at: self.time()?,
                place: {
                    let place = self.byte()?;
                    let known = DropPlace::ALL.get(usize::from(place)).copied();
                    known
                        .ok_or_else(|| format!("frames are dropped at the unknown place {place}"))?
                },
                frames: self.number()?,
            },
        })
    }

    fn input(&mut self, tag: u8) -> Field<Input> {
        Ok(match tag {
            tag::ARRIVED => Input::Arrived {
                at: self.time()?,
                port: self.port()?,
                frame: self.rest(),
            },
            tag::TOO_LONG => Input::TooLong {
                length: self.counted()?,
            },
            tag::JUMPED => Input::Jumped {
                now: self.time()?,
                arrived: self.optional()?,
                place: self.place()?,
            },
            tag::LINK => Input::Link {
                port: self.port()?,
                up: self.flag()?,
                place: self.place()?,
            },
            tag::NOT_SENT => Input::NotSent {
                port: self.port()?,
                frames: self.counted()?,
                bytes: self.counted()?,
                place: self.place()?,
            },
            tag::MISSED => Input::Missed {
                port: self.port()?,
                frames: self.counted()?,
                place: self.place()?,
            },
            tag::ASKED => Input::Asked {
                request: self.number()?,
                method: self.text()?,
                message: self.rest(),
            },
            tag::SAID => Input::Said {
                request: self.number()?,
                stream: self.number()?,
                message: self.rest(),
            },
            tag::RAN => Input::Ran {
                request: self.number()?,
                at: self.time()?,
                work: Work {
                    units: self.number()?,
                    stopped: self.flag()?,
                },
            },
            tag::ANSWERED => Input::Answered {
                request: self.number()?,
                hash: self.hash()?,
            },
            tag::LEFT => Input::Left {
                request: self.number()?,
            },
            tag::STREAM_OPENED => Input::StreamOpened {
                stream: self.number()?,
            },
            tag::STREAM_ENDED => Input::StreamEnded {
                stream: self.number()?,
            },
            _ => return Err(format!("there is no record of kind {tag}")),
        })
    }
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a file.
    ///
    /// # Errors
    /// It is no recording, or of another version.
    pub fn new(input: R) -> Result<(Header, Self), Damaged> {
        let mut reader = Self {
            input,
            offset: 0,
            last: 0,
            body: Vec::new(),
            is_over: false,
        };
        let mut magic = [0; MAGIC.len()];
        if !reader.fill(&mut magic)? || magic != MAGIC {
            return Err(reader.damaged(0, "this is no recording of docsis-switch --record"));
        }
        let mut version = [0];
        if !reader.fill(&mut version)? || version[0] != VERSION {
            let words = format!(
                "the recording's version is {} and not {VERSION}: replay it with the switch that \
                 made it",
                version[0]
            );
            return Err(reader.damaged(MAGIC.len() as u64, words));
        }
        let at = reader.offset;
        if !reader.body()? {
            return Err(reader.damaged(at, "the file ends in the middle of its header"));
        }
        let mut fields = Fields {
            rest: &reader.body,
            last: &mut reader.last,
        };
        let header = fields.header().and_then(|header| match fields.rest {
            [] => Ok(header),
            _ => Err("the header is longer than what it has to say".into()),
        });
        let header = header.map_err(|words| reader.damaged(at, words))?;
        reader.last = 0;
        Ok((header, reader))
    }

    fn damaged(&self, offset: u64, words: impl Into<String>) -> Damaged {
        Damaged {
            words: words.into(),
            offset,
        }
    }

    /// False at the end of the file.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, Damaged> {
        match self.input.read_exact(bytes) {
            Ok(()) => {
                self.offset += bytes.len() as u64;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(self.damaged(self.offset, format!("it cannot be read: {error}"))),
        }
    }

    /// A length and so many bytes; false where the file ends before them.
    fn body(&mut self) -> Result<bool, Damaged> {
        let at = self.offset;
        let mut length = 0usize;
        for shift in (0..).step_by(7) {
            let mut byte = [0];
            if !self.fill(&mut byte)? {
                return Ok(false);
            }
            length |= usize::from(byte[0] & 0x7f) << shift;
            if length > LONGEST_RECORD || shift > 28 {
                let words = format!("a record is longer than {LONGEST_RECORD} bytes");
                return Err(self.damaged(at, words));
            }
            if byte[0] & 0x80 == 0 {
                break;
            }
        }
        // Memory for what is there, and not for what is said to be.
        self.body.clear();
        let mut part = (&mut self.input).take(length as u64);
        let got = part.read_to_end(&mut self.body);
        let got = got.map_err(|error| self.damaged(at, format!("it cannot be read: {error}")))?;
        self.offset += got as u64;
        Ok(got == length)
    }

    /// The next record; `None` where the file ends, after the record that says so or without
    /// it, because it was cut off.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn record(&mut self) -> Result<Option<Record>, Damaged> {
        let at = self.offset;
        let mut tag = [0];
        if !self.fill(&mut tag)? {
            return Ok(None);
        }
        if self.is_over {
            return Err(self.damaged(at, "there is more behind the recording's end"));
        }
        if !self.body()? {
            return Ok(None);
        }
        let mut fields = Fields {
            rest: &self.body,
            last: &mut self.last,
        };
        let record = fields.record(tag[0]).and_then(|record| match fields.rest {
            [] => Ok(record),
            _ => Err("the record is longer than what it has to say".into()),
        });
        let record = record.map_err(|words| self.damaged(at, words))?;
        self.is_over = matches!(record, Record::End(_));
        Ok(Some(record))
    }
}
