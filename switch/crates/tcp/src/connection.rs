// SPDX-License-Identifier: Apache-2.0
//! A connection: the states of RFC 9293 3.3.2 around a sender and a receiver.

mod arrivals;
mod departures;

use crate::config::Config;
use crate::receiver::Receiver;
use crate::segment::Segment;
use crate::sender::{Counts, Phase, Sender};
use crate::timers::earliest;

/// Which end of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends the SYN.
    Active,
    /// Waits for one.
    Passive,
}

/// The states of RFC 9293 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has received a SYN and sent one.
    SynReceived,
    /// Data flows.
    Established,
    /// Has closed, and waits for the ACK of its FIN.
    FinWait1,
    /// Has closed, and waits for the other end's FIN.
    FinWait2,
    /// The other end has closed.
    CloseWait,
    /// Both have closed at the same time.
    Closing,
    /// The other end had closed first; waits for the ACK of its FIN.
    LastAck,
    /// Waits until nothing can arrive any more.
    TimeWait,
    /// There is no connection any more.
    Closed,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Both ends have sent and acknowledged everything.
    Finished,
    /// By a RST, or by [`Connection::abort`].
    Reset,
    /// The other end did not answer.
    TimedOut,
}

/// A connection's inside, for traces and tests. Windows are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The state.
    pub state: State,
    /// Why it is closed, if it is.
    pub ended: Option<Ended>,
    /// Where loss recovery stands.
    pub phase: Phase,
    /// The congestion window.
    pub cwnd: u32,
    /// The slow start threshold; `u32::MAX` before there was congestion.
    pub ssthresh: u32,
    /// The smoothed round trip in nanoseconds.
    pub srtt: Option<u64>,
    /// Its variation in nanoseconds.
    pub rttvar: u64,
    /// The least round trip of the last minutes in nanoseconds.
    pub min_rtt: Option<u64>,
    /// The retransmission timeout in nanoseconds.
    pub rto: u64,
    /// Segments in flight, as the sender believes.
    pub in_flight: u32,
    /// Segments that are not acknowledged cumulatively.
    pub outstanding: u32,
    /// Outstanding segments that were SACKed.
    pub sacked: u32,
    /// Outstanding segments that are lost and will be sent again.
    pub lost: u32,
    /// Bytes of data in a full segment.
    pub mss: u32,
    /// Bytes that the other end still accepts.
    pub send_window: u64,
    /// The window that is offered to the other end, in bytes.
    pub receive_window: u64,
    /// Events since the connection was opened.
    pub counts: Counts,
}

/// One end of a connection. Sans-IO: the caller passes segments and the time
/// in nanoseconds, which never decreases, and sends what
/// [`Connection::next_segment`] returns.
#[derive(Clone, Debug)]
pub struct Connection {
    config: Config,
    state: State,
    ended: Option<Ended>,
    iss: u32,
    /// The other end's initial sequence number.
    irs: u32,
    sender: Sender,
    receiver: Receiver,
    peer_port: u16,
    /// Agreed upon in the handshake.
    sack: bool,
    timestamps: bool,
    /// The window scales, of what is sent and of what is received.
    shift: u8,
    peer_shift: u8,
    syn_wanted: bool,
    syn_sent_at: u64,
    syn_transmissions: u32,
    syn_at: Option<u64>,
    reset_wanted: bool,
    time_wait_at: Option<u64>,
    /// The first one-way delay by timestamps.
    first_delay: Option<u32>,
}

/// RFC 7323 2.3: a larger scale counts as this.
const MAX_SHIFT: u8 = 14;

impl Connection {
    /// Opens one end. `iss` is the initial sequence number, and also where the
    /// timestamps begin.
    pub fn open(config: Config, role: Role, iss: u32, now: u64) -> Connection {
        let config = config.bounded();
        let mut shift = 0;
        while shift < MAX_SHIFT && config.receive_buffer_max >> shift > u32::from(u16::MAX) {
            shift += 1;
        }
        let active = role == Role::Active;
        Connection {
            state: if active {
                State::SynSent
            } else {
                State::Listen
            },
            ended: None,
            iss,
            irs: 0,
            sender: Sender::new(&config, iss),
            receiver: Receiver::new(&config),
            peer_port: config.peer_port,
            sack: config.sack,
            timestamps: config.timestamps,
            shift,
            peer_shift: 0,
            syn_wanted: active,
            syn_sent_at: now,
            syn_transmissions: 0,
            syn_at: None,
            reset_wanted: false,
            time_wait_at: None,
            first_delay: None,
            config,
        }
    }

    /// The application sends `bytes`. After [`Connection::close`] it sends no
    /// more, and this does nothing.
    pub fn send(&mut self, bytes: u64) {
        self.sender.queue(bytes);
    }

    /// The application has nothing more to send: a FIN follows what it sent.
    /// It still receives.
    pub fn close(&mut self) {
        self.sender.close();
        if matches!(self.state, State::Listen) {
            self.end(Ended::Finished);
        }
    }

    /// The application gives up: the other end gets a RST.
    pub fn abort(&mut self) {
        self.reset_wanted = !matches!(
            self.state,
            State::Listen | State::SynSent | State::TimeWait | State::Closed
        );
        self.end(Ended::Reset);
    }

    /// Bytes of data that have arrived in order.
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// The application reads up to `bytes` of what has arrived; says how many
    /// there were. Only for [`Config::reads_at_once`] off.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.receiver.read(bytes)
    }

    /// Bytes that have arrived in order and wait for [`Connection::read`].
    pub fn unread(&self) -> u64 {
        self.receiver.unread()
    }

    /// Bytes that the application has sent and the other end has not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.sender.unacknowledged()
    }

    /// Bytes that the application has sent and that were never on their way.
    pub fn unsent(&self) -> u64 {
        self.sender.unsent()
    }

    /// The other end has closed, and all of its data has arrived.
    pub fn peer_closed(&self) -> bool {
        self.receiver.finished()
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// True once there is no connection any more.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// The inside.
    pub fn info(&self) -> Info {
        let sender = &self.sender;
        let (board, rtt) = (sender.board(), sender.rtt());
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Info {
            state: self.state,
            ended: self.ended,
            phase: sender.phase(),
            cwnd: sender.window().cwnd(),
            ssthresh: sender.window().ssthresh,
            srtt: rtt.srtt(),
            rttvar: rtt.rttvar(),
            min_rtt: rtt.min_rtt(),
            rto: rtt.rto(),
            in_flight: count(board.pipe()),
            outstanding: count(board.len()),
            sacked: count(board.sacked()),
            lost: count(board.lost()),
            mss: sender.mss(),
            send_window: sender.edge().saturating_sub(sender.nxt()),
            receive_window: self.receiver.tuning.window(),
            counts: sender.counts(),
        }
    }

    /// When [`Connection::on_timer`] is to be called; None: not at all.
    pub fn next_timer(&self) -> Option<u64> {
        if self.state == State::Closed {
            return None;
        }
        let sender = self.may_send().then(|| self.sender.next_timer()).flatten();
        let ack = self.receiver.acks.due();
        earliest([self.syn_at, self.time_wait_at, sender, ack])
    }

    /// Does what is due at `now`. Calls before [`Connection::next_timer`] do
    /// nothing.
    pub fn on_timer(&mut self, now: u64) {
        if self.state == State::Closed {
            return;
        }
        if self.time_wait_at.is_some_and(|at| at <= now) {
            self.end(Ended::Finished);
            return;
        }
        if self.syn_at.is_some_and(|at| at <= now) {
            self.syn_at = None;
            let most = self.config.syn_linear_timeouts + self.config.syn_retries;
            if self.syn_transmissions > most {
                self.end(Ended::TimedOut);
                return;
            }
            if self.syn_transmissions > self.config.syn_linear_timeouts {
                self.sender.rtt_mut().back_off();
            }
            self.syn_wanted = true;
        }
        if self.may_send() && !self.sender.on_timer(now) {
            self.end(Ended::TimedOut);
            return;
        }
        self.receiver.acks.on_timer(now);
    }

    /// True in the states in which data, or a FIN, may be on its way.
    fn may_send(&self) -> bool {
        matches!(
            self.state,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::Closing
                | State::LastAck
        )
    }

    fn end(&mut self, why: Ended) {
        self.state = State::Closed;
        self.ended.get_or_insert(why);
        self.syn_at = None;
        self.syn_wanted = false;
        self.time_wait_at = None;
    }

    /// Segments that a connection with these settings refuses at once are
    /// told apart by their ports.
    fn is_mine(&self, segment: &Segment) -> bool {
        segment.destination_port == self.config.port
            && (self.peer_port == 0 || segment.source_port == self.peer_port)
    }
}
