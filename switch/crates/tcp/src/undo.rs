// SPDX-License-Identifier: Apache-2.0
//! Undoing a reduction of the window that was needless: the retransmissions
//! are reported as duplicates (RFC 2883, RFC 3708 2), or an ACK echoes a
//! timestamp from before the retransmission (Eifel, RFC 3522 3.2). The window
//! returns to what it was (RFC 4015 3.2).

use crate::controller::Controller;
use crate::window::Window;

/// What stood before a recovery.
#[derive(Clone, Debug)]
struct Before {
    window: Window,
    controller: Controller,
    /// SND.UNA: retransmissions are of what follows it.
    una: u64,
    /// Retransmissions that no DSACK has reported.
    unreported: u32,
    retransmitted: bool,
    /// The timestamp of the first retransmission.
    first_timestamp: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    before: Option<Box<Before>>,
}

impl Undo {
    /// A recovery begins. One that follows a recovery which is not over, as a
    /// timeout may, cannot be undone to in between.
    pub(crate) fn begin(&mut self, una: u64, window: Window, controller: &Controller) {
        self.before = Some(Box::new(Before {
            window,
            controller: controller.clone(),
            una,
            unreported: 0,
            retransmitted: false,
            first_timestamp: None,
        }));
    }

    pub(crate) fn forget(&mut self) {
        self.before = None;
    }

    /// A segment is sent again, with this timestamp.
    pub(crate) fn resent(&mut self, timestamp: Option<u32>) {
        if let Some(before) = &mut self.before {
            before.unreported = before.unreported.saturating_add(1);
            if !before.retransmitted {
                before.retransmitted = true;
                before.first_timestamp = timestamp;
            }
        }
    }

    /// A DSACK reports `segments` of data at `start` as arrived twice. True
    /// if that was the last retransmission (RFC 3708 2).
    pub(crate) fn dsack(&mut self, start: u64, segments: u32) -> bool {
        let Some(before) = &mut self.before else {
            return false;
        };
        if !before.retransmitted || start < before.una {
            return false;
        }
        before.unreported = before.unreported.saturating_sub(segments);
        before.unreported == 0
    }

    /// RFC 3522 3.2 steps 4 and 5: an ACK of new data, the first since the
    /// retransmission, echoes a time before it.
    pub(crate) fn advanced(&mut self, echo: Option<u32>) -> bool {
        let Some(before) = &mut self.before else {
            return false;
        };
        if !before.retransmitted {
            return false;
        }
        match (before.first_timestamp.take(), echo) {
            (Some(first), Some(echo)) => (echo.wrapping_sub(first) as i32) < 0,
            _ => false,
        }
    }

    /// Gives back the window and the controller of before, once.
    pub(crate) fn take(&mut self, now: Window) -> Option<(Window, Controller)> {
        let before = self.before.take()?;
        let mut window = before.window;
        window.set(window.cwnd().max(now.cwnd()));
        Some((window, before.controller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn undo() -> Undo {
        let mut undo = Undo::default();
        undo.begin(100, Window::new(20), &Controller::new(&Config::linux()));
        undo
    }

    /// RFC 3708 2: all retransmissions have to be reported.
    #[test]
    fn by_dsack() {
        let mut undo = undo();
        assert!(!undo.dsack(100, 1));
        undo.resent(None);
        undo.resent(None);
        assert!(!undo.dsack(50, 1));
        assert!(!undo.dsack(100, 1));
        assert!(undo.dsack(200, 1));
        assert_eq!(undo.take(Window::new(3)).unwrap().0.cwnd(), 20);
        assert!(undo.take(Window::new(3)).is_none());
    }

    /// RFC 3522 3.2: only the first ACK of new data tells, by its timestamp.
    #[test]
    fn by_timestamp() {
        for (echo, spurious) in [(999, true), (1000, false), (1001, false)] {
            let mut undo = undo();
            assert!(!undo.advanced(Some(1)));
            undo.resent(Some(1000));
            assert_eq!(undo.advanced(Some(echo)), spurious);
            assert!(!undo.advanced(Some(1)));
        }
    }
}
