// SPDX-License-Identifier: Apache-2.0
//! How the kernel schedules the thread that forwards.

use std::io;

/// Timers of this thread end on time, not up to 50 us later.
pub fn exact_timers() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Sets this thread's nice value.
///
/// # Errors
/// No permission.
pub fn nice(value: i32) -> io::Result<()> {
    // SAFETY: no pointers; 0 is the calling thread.
    let status = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Puts this thread, which may have a policy from who started it, under the ordinary one.
pub fn ordinary() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: a sched_param that lives through the call; 0 is the calling thread. To have less
    // is always permitted.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &parameters) };
}

/// Puts this thread under SCHED_RR.
///
/// # Errors
/// No permission.
pub fn realtime(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: a sched_param that lives through the call; 0 is the calling thread.
    let status = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &parameters) };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
