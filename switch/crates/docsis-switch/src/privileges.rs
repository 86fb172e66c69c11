// SPDX-License-Identifier: Apache-2.0
//! Gives up privileges once the process runs. Usually root starts it, because interfaces need that,
//! and from then on clients and frames may send it anything. On Linux each thread has capabilities
//! of its own: all threads give up all of them; the main thread keeps those that open interfaces.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
    set_no_new_privs,
};
use std::io;
use tracing::warn;

/// What opening an interface takes: a packet socket, and buffers above the system's limits.
/// Interfaces that vanish come back, and are opened again.
const INTERFACES: CapabilitySet = CapabilitySet::NET_RAW.union(CapabilitySet::NET_ADMIN);

/// Nothing that this thread, or one that it starts from now on, executes gains privileges. To be
/// called before other threads are started.
///
/// # Errors
/// The kernel refuses.
pub fn gain_no_more() -> io::Result<()> {
    set_no_new_privs(true)?;
    // A kernel without ambient capabilities has none to give.
    let _ = clear_ambient_capability_set();
    Ok(())
}

/// This thread, and those that it starts from now on, may do what anybody may.
pub fn none() {
    if let Err(error) = keep(CapabilitySet::empty()) {
        warn!("a thread keeps its privileges: {error}");
    }
}

/// This thread may still open interfaces, if it may now and there are any.
///
/// # Errors
/// The kernel refuses.
pub fn keep_for_interfaces(any: bool) -> io::Result<()> {
    keep(if any {
        INTERFACES
    } else {
        CapabilitySet::empty()
    })
}

fn keep(wanted: CapabilitySet) -> io::Result<()> {
    let now = capabilities(None)?;
    let sets = CapabilitySets {
        effective: now.effective & wanted,
        permitted: now.permitted & wanted,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_is_gone_for_this_thread_and_those_that_it_starts() {
        let all = capabilities(None).unwrap().permitted;
        let thread = std::thread::spawn(|| {
            gain_no_more().unwrap();
            keep_for_interfaces(true).unwrap();
            let kept = capabilities(None).unwrap();
            none();
            let inherited = std::thread::spawn(|| capabilities(None).unwrap());
            (kept, inherited.join().unwrap())
        });
        let (kept, inherited) = thread.join().unwrap();
        assert_eq!(kept.permitted, all & INTERFACES);
        assert!(INTERFACES.contains(kept.effective));
        for set in [inherited.permitted, inherited.effective, kept.inheritable] {
            assert_eq!(set, CapabilitySet::empty());
        }
        // Others keep theirs.
        assert_eq!(capabilities(None).unwrap().permitted, all);
    }
}
