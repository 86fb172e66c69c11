// SPDX-License-Identifier: Apache-2.0
//! The far end of a fake port. It decides what is sent to the switch, how much of that the kernel
//! would keep, and how fast frames of the switch are taken.

use std::collections::VecDeque;
use std::io;

/// Frames that a far end sends, each with the time at which it reaches the port, ascending.
pub type Traffic = Box<dyn Iterator<Item = (u64, Vec<u8>)> + Send>;

/// Takes the frames that reach the far end, each with the time at which the switch sent it.
pub type Sink = Box<dyn FnMut(u64, &[u8]) + Send>;

/// How a far end takes frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Time that a byte takes, ns; with 0 there is always room.
    pub byte_ns: u64,
    /// Bytes that wait for the line at the most.
    pub room: u64,
    /// Longer frames are refused.
    pub longest: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            byte_ns: 0,
            room: u64::MAX,
            longest: usize::MAX,
        }
    }
}

/// What became of the frames of a far end, each of which counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// It sent them.
    pub made: u64,
    /// They came while the link was down or gone.
    pub unheard: u64,
    /// They came while too many waited.
    pub missed: u64,
    /// They waited when the link was replaced.
    pub forgotten: u64,
    /// The port handed them over.
    pub received: u64,
    /// The switch sent them to it.
    pub taken: u64,
}

/// Whether frames pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    Down,
    Gone,
}

/// The far end of one port.
pub struct FarEnd {
    traffic: Traffic,
    next: Option<(u64, Vec<u8>)>,
    /// When the last frame came that it has sent.
    last: u64,
    waiting: VecDeque<(u64, Vec<u8>)>,
    most_waiting: usize,
    state: State,
    /// The link went down, and nobody has been told.
    error: bool,
    line: Line,
    busy_until: u64,
    /// Missed frames that nobody has been told of.
    missed: u64,
    counts: Counts,
    sink: Sink,
}

impl FarEnd {
    /// One that is up. `most_waiting` frames wait to be received, and others are missed.
    pub fn new(traffic: Traffic, most_waiting: usize, line: Line, sink: Sink) -> Self {
        let mut made = Self {
            traffic,
            next: None,
            last: 0,
            waiting: VecDeque::new(),
            most_waiting,
            state: State::Up,
            error: false,
            line,
            busy_until: 0,
            missed: 0,
            counts: Counts::default(),
            sink,
        };
        made.draw();
        made
    }

    fn draw(&mut self) {
        self.next = self.traffic.next();
        if let Some((at, _)) = self.next {
            assert!(at >= self.last, "the traffic is not in the order of time");
            self.last = at;
        }
    }

    /// Frames that have come by `now` wait, or are lost.
    pub fn pass(&mut self, now: u64) {
        while let Some((at, frame)) = self.next.take_if(|(at, _)| *at <= now) {
            self.counts.made += 1;
            if self.state != State::Up {
                self.counts.unheard += 1;
            } else if self.waiting.len() >= self.most_waiting {
                self.counts.missed += 1;
                self.missed += 1;
            } else {
                self.waiting.push_back((at, frame));
            }
            self.draw();
        }
    }

    /// When the next frame comes.
    pub fn next_arrival(&self) -> Option<u64> {
        self.next.as_ref().map(|(at, _)| *at)
    }

    /// The next frame that has come; `None` where there is none yet.
    pub fn receive(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        if self.state == State::Gone {
            return Err(io::Error::from_raw_os_error(libc::ENXIO));
        }
        if std::mem::take(&mut self.error) {
            return Err(io::Error::from_raw_os_error(libc::ENETDOWN));
        }
        let first = self.waiting.pop_front();
        self.counts.received += u64::from(first.is_some());
        Ok(first)
    }

    /// Whether a look at the port says something: a frame, or an error.
    pub fn is_ready(&self) -> bool {
        self.state == State::Gone || self.error || !self.waiting.is_empty()
    }

    /// Takes a frame that the switch sends.
    pub fn take(&mut self, now: u64, frame: &[u8]) -> io::Result<()> {
        if self.state != State::Up {
            return Err(io::Error::from_raw_os_error(libc::ENETDOWN));
        }
        if frame.len() > self.line.longest {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        let bytes = frame.len() as u64;
        if self.line.byte_ns > 0 {
            if self.backlog(now) + bytes > self.line.room {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.busy_until = self.busy_until.max(now) + bytes * self.line.byte_ns;
        }
        self.counts.taken += 1;
        (self.sink)(now, frame);
        Ok(())
    }

    fn backlog(&self, now: u64) -> u64 {
        let left = self.busy_until.saturating_sub(now);
        left.div_ceil(self.line.byte_ns.max(1))
    }

    /// When there is room again: as the kernel says it, when half of it is free.
    pub fn room_at(&self) -> u64 {
        let half = (self.line.room / 2).saturating_mul(self.line.byte_ns);
        self.busy_until.saturating_sub(half)
    }

    /// From now on it takes frames in another way.
    pub fn set_line(&mut self, line: Line) {
        self.line = line;
        self.busy_until = 0;
    }

    /// The link goes down: the switch is told once.
    pub fn down(&mut self) {
        if self.state == State::Up {
            self.state = State::Down;
            self.error = true;
        }
    }

    /// The link comes up again.
    pub fn up(&mut self) {
        if self.state == State::Down {
            self.state = State::Up;
        }
    }

    /// The link vanishes, with what waits in it.
    pub fn vanish(&mut self) {
        self.state = State::Gone;
        self.counts.forgotten += self.waiting.drain(..).len() as u64;
        self.busy_until = 0;
    }

    /// There is another link.
    pub fn attach(&mut self) {
        self.state = State::Up;
        self.error = false;
        self.counts.forgotten += self.waiting.drain(..).len() as u64;
        self.busy_until = 0;
    }

    /// Frames missed since the last call.
    pub fn missed(&mut self) -> u64 {
        std::mem::take(&mut self.missed)
    }

    /// What became of its frames.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Frames that wait to be received.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
