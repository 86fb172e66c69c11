// SPDX-License-Identifier: Apache-2.0
//! What the process says before it ends at once. Standard error may be a pipe that nobody reads: a
//! thread of its own waits for the reader, and the end does not wait for that thread for long.

use std::thread::Builder;
use std::time::{Duration, Instant};

/// How long the end waits.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the thread is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// Lets a thread say it, and returns when it has, or after [`PATIENCE`]. Where there is no thread
/// nothing is said.
pub fn say(what: impl FnOnce() + Send + 'static) {
    let says = Builder::new().name("last-words".into()).spawn(what);
    let end = Instant::now() + PATIENCE;
    while says.as_ref().is_ok_and(|says| !says.is_finished()) && Instant::now() < end {
        std::thread::park_timeout(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn it_is_said_before_the_end_goes_on() {
        let (said, heard) = channel();
        say(move || said.send("it").unwrap());
        assert_eq!(heard.try_recv(), Ok("it"));
    }

    #[test]
    fn the_end_goes_on_although_nobody_reads() {
        let (read, reader) = channel::<()>();
        say(move || {
            // Ends with the test.
            let _ = reader.recv();
        });
        // A thread that still waits has its end of the channel.
        assert!(read.send(()).is_ok());
    }
}
