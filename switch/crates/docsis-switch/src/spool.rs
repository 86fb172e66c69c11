// SPDX-License-Identifier: Apache-2.0
//! Writes files in threads of their own, so that whoever fills a file never waits for the disk.

use crate::lock::Lock;
use crate::output_file;
use crate::privileges;
use crate::scheduling;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, Thread};
use std::time::{Duration, Instant};
use tracing::{Level, error, info, warn};

/// Bytes that may wait for a disk.
const ROOM: usize = 16 << 20;
/// So many are written at once.
const MUCH: usize = 1 << 20;
/// How often a thread is looked at that is given a limited time to end.
const LOOK: Duration = Duration::from_millis(2);
/// How long the end of the process waits for a file before it says what it waits for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Fewer are written after that time.
const SOON: Duration = Duration::from_millis(100);

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// Nothing more comes.
    closed: bool,
    /// Calls for which there was no room.
    refused: u64,
    /// Writing failed, and nothing more is written.
    failed: Option<ErrorKind>,
}

/// Where a thread says at its end what came of a file.
type Tell = fn(Level, &str);

/// Takes what is to be written; each call's bytes whole, or not at all where too many wait, which is
/// counted and told as [`ErrorKind::WouldBlock`].
pub struct Spool {
    /// Threads of different priority use it.
    state: Arc<Lock<State>>,
    writer: Thread,
    room: usize,
}

/// Several threads may write, each call's bytes in one piece.
impl Write for &Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        if let Some(kind) = state.failed {
            return Err(kind.into());
        }
        let before = state.waiting.len();
        if state.closed || (before > 0 && before + bytes.len() > self.room) {
            state.refused += 1;
            return Err(ErrorKind::WouldBlock.into());
        }
        state.waiting.extend_from_slice(bytes);
        let after = state.waiting.len();
        drop(state);
        if before == 0 || (before < MUCH && after >= MUCH) {
            self.writer.unpark();
        }
        Ok(bytes.len())
    }

    /// Does nothing: what waits is written soon.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    /// Does nothing: what waits is written soon.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Writing {
    name: String,
    state: Arc<Lock<State>>,
    thread: JoinHandle<()>,
}

/// The threads that write files.
pub struct Spools {
    writing: Vec<Writing>,
    tell: Tell,
}

impl Default for Spools {
    /// No threads yet. They will log what came of their files.
    fn default() -> Self {
        Self {
            writing: Vec::new(),
            tell: log,
        }
    }
}

impl Spools {
    /// No threads yet. One of them will write the log itself, so they say on standard error what
    /// went wrong.
    pub fn for_the_log() -> Self {
        Self {
            writing: Vec::new(),
            tell: complain,
        }
    }

    /// Creates a file, and starts a thread that writes it; `name` is what it is, for messages.
    ///
    /// # Errors
    /// One sentence: the file cannot be written, or there is no thread for it.
    pub fn create(&mut self, name: String, path: &Path) -> Result<Spool, String> {
        let file = output_file::create(path)
            .map_err(|error| format!("{name} cannot be written: {error}"))?;
        self.start(name, file)
    }

    /// Starts a thread that writes to `out`; `name` is what it writes, for messages.
    ///
    /// # Errors
    /// One sentence: there is no thread for it.
    pub fn start(
        &mut self,
        name: String,
        out: impl Write + Send + 'static,
    ) -> Result<Spool, String> {
        self.start_with(name, out, ROOM)
    }

    fn start_with(
        &mut self,
        name: String,
        out: impl Write + Send + 'static,
        room: usize,
    ) -> Result<Spool, String> {
        let state = Arc::new(Lock::new(State::default()));
        let (there, tell, title) = (Arc::clone(&state), self.tell, name.clone());
        let thread = Builder::new()
            .name("spool".into())
            .spawn(move || write(&title, out, &there, tell))
            .map_err(|error| format!("no thread to write a file: {error}"))?;
        let spool = Spool {
            state: Arc::clone(&state),
            writer: thread.thread().clone(),
            room,
        };
        self.writing.push(Writing {
            name,
            state,
            thread,
        });
        Ok(spool)
    }

    /// Waits until all is written that was to be by now, and says what came of it. Where that takes
    /// long it says what it waits for: a pipe may be read by somebody who looks at it page by page.
    pub fn close(self) {
        for Writing { state, thread, .. } in &self.writing {
            state.lock().closed = true;
            thread.thread().unpark();
        }
        self.wait_until(Instant::now() + PATIENCE);
        for Writing { name, thread, .. } in &self.writing {
            if !thread.is_finished() {
                let text = format!(
                    "the end waits until {name} is written; it ends at once with a second signal"
                );
                (self.tell)(Level::WARN, &text);
            }
        }
        for Writing { thread, .. } in self.writing {
            if thread.join().is_err() {
                (self.tell)(Level::ERROR, "a thread that writes a file has failed");
            }
        }
    }

    /// Waits until all threads have ended, but no longer than this.
    fn wait_until(&self, end: Instant) {
        let is_open = || !self.writing.iter().all(|one| one.thread.is_finished());
        while is_open() && Instant::now() < end {
            std::thread::park_timeout(LOOK);
        }
    }

    /// As [`Self::close`], but waits no longer than this, whatever the disk does. It may be called
    /// in the middle of a panic.
    pub fn close_within(self, patience: Duration) {
        let end = Instant::now() + patience;
        for Writing { state, thread, .. } in &self.writing {
            // The thread that panics may hold the lock.
            while Instant::now() < end {
                if let Some(mut state) = state.try_lock() {
                    state.closed = true;
                    break;
                }
                std::thread::park_timeout(LOOK);
            }
            thread.thread().unpark();
        }
        self.wait_until(end);
    }
}

/// Logs what came of a file.
fn log(level: Level, text: &str) {
    match level {
        Level::ERROR => error!("{text}"),
        Level::WARN => warn!("{text}"),
        _ => info!("{text}"),
    }
}

/// Says on standard error what went wrong with a file.
fn complain(level: Level, text: &str) {
    if level <= Level::WARN {
        let _ = writeln!(io::stderr(), "docsis-switch: {text}");
    }
}

/// The thread.
fn write(name: &str, mut out: impl Write, state: &Lock<State>, tell: Tell) {
    // A switch may run under SCHED_RR as a whole: what forwards goes first.
    scheduling::ordinary();
    privileges::none();
    let mut bytes = Vec::new();
    let mut written = 0;
    let mut result = Ok(());
    loop {
        let (empty, closed) = {
            let state = state.lock();
            (state.waiting.is_empty(), state.closed)
        };
        if empty && closed {
            break;
        }
        if empty {
            std::thread::park();
            continue;
        }
        if !closed {
            std::thread::park_timeout(SOON);
        }
        std::mem::swap(&mut state.lock().waiting, &mut bytes);
        if result.is_ok() {
            result = out.write_all(&bytes).and_then(|()| out.flush());
            match &result {
                Ok(()) => written += bytes.len(),
                Err(error) => state.lock().failed = Some(error.kind()),
            }
        }
        bytes.clear();
    }
    let refused = state.lock().refused;
    let (level, text) = match result {
        Err(error) => (
            Level::ERROR,
            format!(
                "{name} is cut off after {written} bytes, as it cannot be written: {error}; the \
                 switch went on"
            ),
        ),
        Ok(()) if refused > 0 => (
            Level::WARN,
            format!(
                "{name} has {written} bytes and lacks {refused} parts, which came faster than they \
                 could be written; the switch went on"
            ),
        ),
        Ok(()) => (Level::INFO, format!("{name} has {written} bytes")),
    };
    tell(level, &text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A disk that writes when it is told to.
    struct Slow {
        may: Receiver<()>,
        kept: Arc<Mutex<Vec<u8>>>,
    }

    fn slow() -> (Slow, Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (tell, may) = channel();
        let kept = Arc::default();
        let slow = Slow {
            may,
            kept: Arc::clone(&kept),
        };
        (slow, tell, kept)
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Ends with its sender: then it writes at once.
            let _ = self.may.recv();
            self.kept.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_finds_no_room_is_left_out_whole_and_the_rest_is_in_order() {
        let (out, tell, kept) = slow();
        let mut spools = Spools::default();
        let mut spool = spools.start_with("it".into(), out, 1000).unwrap();
        let mut taken = Vec::new();
        // The thread has room for two buffers: one that it writes, one that waits.
        let mut refused = 0;
        for number in 0..=255u8 {
            let part = [number; 10];
            match spool.write_all(&part) {
                Ok(()) => taken.extend(part),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    refused += 1;
                }
            }
        }
        assert!((56..=156).contains(&refused), "{refused}");
        drop(tell);
        drop(spool);
        spools.close();
        assert_eq!(*kept.lock().unwrap(), taken);
    }

    #[test]
    fn all_is_written_when_it_is_closed_and_nothing_comes_after() {
        let (out, tell, kept) = slow();
        drop(tell);
        let mut spools = Spools::default();
        let mut spool = spools.start("it".into(), out).unwrap();
        spool.write_all(b"first ").unwrap();
        // More than may wait, but nothing waits in front of it for ever.
        let long = vec![b'x'; ROOM - 6];
        spool.write_all(&long).unwrap();
        spools.close();
        assert_eq!(kept.lock().unwrap().len(), ROOM);
        assert!(spool.write_all(b"more").is_err());
    }

    #[test]
    fn a_disk_that_hangs_is_not_waited_for() {
        let (out, tell, kept) = slow();
        let mut spools = Spools::for_the_log();
        let spool = spools.start("it".into(), out).unwrap();
        (&spool).write_all(b"first").unwrap();
        spools.close_within(Duration::from_millis(20));
        assert!(kept.lock().unwrap().is_empty());
        // It goes on by itself when the disk does.
        drop(tell);
        while kept.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(*kept.lock().unwrap(), b"first");
    }

    /// A disk without room.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn whoever_fills_it_is_told_that_writing_failed() {
        let mut spools = Spools::default();
        let mut spool = spools.start("it".into(), Full).unwrap();
        spool.write_all(b"first").unwrap();
        let state = Arc::clone(&spool.state);
        spools.close();
        assert_eq!(state.lock().failed, Some(ErrorKind::StorageFull));
        let told = spool.write_all(b"more").unwrap_err();
        assert_eq!(told.kind(), ErrorKind::StorageFull);
    }
}
