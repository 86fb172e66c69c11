// SPDX-License-Identifier: Apache-2.0
//! A platform of fake ports in virtual time. The world's clock goes on by a little with every look
//! at it, as a thread's time does, and by as much as is needed when the thread sleeps.

use super::far_end::{Counts, FarEnd};
use crate::port::{Inbox, LONGEST_FRAME, Platform, Poll, Port, Received, Time};
use crate::wait::PollSet;
use crate::waker::Waker;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard};

/// How far the clock of stamps, which is wall time, is ahead of the process's clock, ns.
const AHEAD: u64 = 1_700_000_000_000_000_000;

/// Something that happens at its time. It may change the world, because the world is not locked
/// then.
pub type Action = Box<dyn FnOnce(u64) + Send>;

/// How long after the time that it was told each sleep ends, ns.
pub type Oversleep = Box<dyn FnMut() -> u64 + Send>;

struct State {
    now: u64,
    /// The time that a look at the clock and each call to a port take, ns.
    look: u64,
    oversleep: Oversleep,
    far_ends: Vec<FarEnd>,
    /// The actions by time, and then by the order in which they were asked for.
    agenda: BTreeMap<(u64, u64), Action>,
    asked: u64,
    sleeps: u64,
}

impl State {
    fn pass(&mut self) {
        let now = self.now;
        self.far_ends.iter_mut().for_each(|end| end.pass(now));
    }
}

/// Everything outside the switch.
pub struct World(Mutex<State>);

impl World {
    /// A world at time 0, in which a look at the clock takes `look` ns, 1 at least.
    pub fn new(look: u64, far_ends: Vec<FarEnd>) -> Arc<Self> {
        assert!(look > 0, "who waits awake would wait for ever");
        Arc::new(Self(Mutex::new(State {
            now: 0,
            look,
            oversleep: Box::new(|| 0),
            far_ends,
            agenda: BTreeMap::new(),
            asked: 0,
            sleeps: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The ports, one for each far end.
    pub fn ports(self: &Arc<Self>) -> Vec<FakePort> {
        let count = self.state().far_ends.len();
        let port = |end| FakePort {
            world: Arc::clone(self),
            end,
        };
        (0..count).map(port).collect()
    }

    /// The world's clock.
    pub fn clock(self: &Arc<Self>) -> FakeClock {
        FakeClock(Arc::clone(self))
    }

    /// Lets time go on, so that frames come in the meantime, while the thread gets no processor.
    pub fn stall(&self, ns: u64) {
        self.state().now += ns;
    }

    /// Sets how late sleeps end from now on.
    pub fn set_oversleep(&self, oversleep: impl FnMut() -> u64 + Send + 'static) {
        self.state().oversleep = Box::new(oversleep);
    }

    /// Has something happen at a time, or as soon after it as the thread asks what has happened.
    pub fn at(&self, time: u64, action: impl FnOnce(u64) + Send + 'static) {
        let mut state = self.state();
        let asked = state.asked;
        state.asked += 1;
        state.agenda.insert((time, asked), Box::new(action));
    }

    /// Runs a closure that changes a far end or looks at it.
    pub fn far_end<R>(&self, end: usize, change: impl FnOnce(&mut FarEnd) -> R) -> R {
        let mut state = self.state();
        state.pass();
        change(&mut state.far_ends[end])
    }

    /// The counts of a far end's frames.
    pub fn counts(&self, end: usize) -> Counts {
        self.far_end(end, |end| end.counts())
    }

    /// How often the thread slept.
    pub fn sleeps(&self) -> u64 {
        self.state().sleeps
    }

    /// The time. Unlike a look at the clock, this takes no time.
    pub fn time(&self) -> u64 {
        self.state().now
    }

    /// Takes the next action that is due from the agenda.
    fn due(&self) -> Option<(u64, Action)> {
        let mut state = self.state();
        let first = state.agenda.first_entry()?;
        let (at, _) = *first.key();
        if at > state.now {
            return None;
        }
        let (_, action) = state.agenda.pop_first()?;
        Some((state.now, action))
    }

    fn run_agenda(&self) {
        while let Some((now, action)) = self.due() {
            action(now);
        }
    }
}

/// The clock of a world.
#[derive(Clone)]
pub struct FakeClock(Arc<World>);

impl Time for FakeClock {
    fn now(&self) -> u64 {
        let mut state = self.0.state();
        state.now += state.look;
        state.now
    }

    fn ahead(&self) -> u64 {
        AHEAD
    }

    fn wall(&self, now: u64) -> u64 {
        AHEAD + now
    }
}

/// A port of a world.
pub struct FakePort {
    world: Arc<World>,
    end: usize,
}

/// Another link of a fake port.
#[derive(Debug)]
pub struct AnotherLink;

impl Port for FakePort {
    type Inbox = Frames;
    type Link = AnotherLink;

    fn receive(&mut self, inbox: &mut Frames, slots: Range<usize>) -> io::Result<usize> {
        let mut state = self.world.state();
        state.now += state.look;
        state.pass();
        let end = &mut state.far_ends[self.end];
        let mut count = 0;
        for slot in slots {
            let Some((at, frame)) = end.receive()? else {
                break;
            };
            inbox.put(slot, AHEAD + at, frame);
            count += 1;
        }
        Ok(count)
    }

    fn send(&mut self, frames: &mut [Vec<u8>]) -> io::Result<usize> {
        assert!(!frames.is_empty());
        let mut state = self.world.state();
        state.now += state.look;
        let now = state.now;
        let end = &mut state.far_ends[self.end];
        for (sent, frame) in frames.iter().enumerate() {
            match end.take(now, frame) {
                Ok(()) => {}
                Err(error) if sent == 0 => return Err(error),
                Err(_) => return Ok(sent),
            }
        }
        Ok(frames.len())
    }

    fn missed(&mut self) -> u64 {
        self.world.far_end(self.end, FarEnd::missed)
    }

    fn attach(&mut self, _: AnotherLink) {
        self.world.far_end(self.end, FarEnd::attach);
    }
}

/// A port whose far end is one of a world, with or without faults between them.
pub trait Simulated: Port {
    /// The world, and the place of the far end.
    fn place(&self) -> (&Arc<World>, usize);
}

impl Simulated for FakePort {
    fn place(&self) -> (&Arc<World>, usize) {
        (&self.world, self.end)
    }
}

/// Frames in memory, with the times at which they came.
pub struct Frames(Vec<(u64, Vec<u8>)>);

impl Frames {
    /// Puts a frame into a slot.
    pub fn put(&mut self, slot: usize, stamp: u64, frame: Vec<u8>) {
        self.0[slot] = (stamp, frame);
    }
}

impl Inbox for Frames {
    fn new(slots: usize) -> Self {
        Self(vec![(0, Vec::new()); slots])
    }

    fn slots(&self) -> usize {
        self.0.len()
    }

    fn stamp(&self, slot: usize) -> Option<u64> {
        Some(self.0[slot].0)
    }

    fn frame(&mut self, slot: usize) -> Received<'_> {
        let bytes = &self.0[slot].1;
        if bytes.len() > LONGEST_FRAME {
            return Received::TooLong(bytes.len());
        }
        Received::Frame {
            bytes,
            checksum_missing: false,
        }
    }
}

/// Sleeps in a world, which goes on meanwhile.
pub struct FakePoll {
    world: Arc<World>,
    /// The places of the far ends; `None` for ports that are ignored.
    ends: Vec<Option<usize>>,
    room: Vec<bool>,
    ready: Vec<bool>,
    /// The waker, which only the thread's own poll has. That poll lets the world go on.
    waker: Option<PollSet>,
}

impl FakePoll {
    /// Looks at what is ready, and returns whether anything is.
    fn look(&mut self) -> bool {
        let mut state = self.world.state();
        state.pass();
        for (n, end) in self.ends.iter().enumerate() {
            let end = end.map(|end| &state.far_ends[end]);
            self.ready[n] =
                end.is_some_and(|end| end.is_ready() || self.room[n] && end.room_at() <= state.now);
        }
        drop(state);
        if let Some(waker) = &mut self.waker {
            waker.wait(Some(0));
            self.ready[self.ends.len()] = waker.is_ready(0);
        }
        self.ready.contains(&true)
    }

    /// The time at which something happens next.
    fn next(&self) -> Option<u64> {
        let state = self.world.state();
        let agenda = state.agenda.keys().next().map(|(at, _)| *at);
        let ends = self.ends.iter().zip(&self.room);
        let ends = ends.filter_map(|(end, room)| Some((&state.far_ends[(*end)?], *room)));
        let events = ends.flat_map(|(end, room)| [end.next_arrival(), room.then(|| end.room_at())]);
        events.flatten().chain(agenda).min()
    }
}

impl<P: Simulated> Poll<P> for FakePoll {
    fn new<'p>(ports: impl Iterator<Item = &'p P>, waker: Option<&Waker>) -> Self
    where
        P: 'p,
    {
        let places: Vec<_> = ports.map(P::place).collect();
        let world = Arc::clone(places.first().expect("a fake switch has ports").0);
        let ends: Vec<_> = places.iter().map(|(_, end)| Some(*end)).collect();
        Self {
            room: vec![false; ends.len()],
            ready: vec![false; ends.len() + usize::from(waker.is_some())],
            waker: waker.map(|waker| PollSet::of([waker.as_raw_fd()])),
            world,
            ends,
        }
    }

    fn wait(&mut self, timeout: Option<u64>) {
        let mut state = self.world.state();
        state.now += state.look;
        let until = timeout.map(|ns| state.now + ns);
        drop(state);
        let thread = self.waker.is_some();
        if thread {
            self.world.run_agenda();
        }
        if self.look() || timeout == Some(0) {
            return;
        }
        assert!(thread, "only the devices' thread sleeps");
        loop {
            let next = self.next().into_iter().chain(until).min();
            let next = next.expect("the thread sleeps, and nothing will ever wake it");
            let mut state = self.world.state();
            state.now = state.now.max(next);
            let is_over = until.is_some_and(|until| state.now >= until);
            drop(state);
            self.world.run_agenda();
            if self.look() || is_over {
                break;
            }
        }
        let mut state = self.world.state();
        state.sleeps += 1;
        let late = (state.oversleep)();
        state.now += late;
        drop(state);
        self.look();
    }

    fn is_ready(&self, n: usize) -> bool {
        self.ready[n]
    }

    fn want_room(&mut self, n: usize, wanted: bool) {
        self.room[n] = wanted;
    }

    fn wants_room(&self) -> bool {
        self.room.contains(&true)
    }

    fn replace(&mut self, n: usize, port: &P) {
        self.ends[n] = Some(port.place().1);
        self.ready[n] = false;
    }

    fn ignore(&mut self, n: usize) {
        self.ends[n] = None;
        self.ready[n] = false;
    }
}

/// Fake ports.
pub enum Fake {}

impl Platform for Fake {
    type Clock = FakeClock;
    type Port = FakePort;
    type Poll = FakePoll;
}
