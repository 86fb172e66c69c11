// SPDX-License-Identifier: Apache-2.0
//! A lock whose holder inherits the priority of the thread that waits for it.
//!
//! The thread of a device may be under SCHED_RR, and gRPC's thread, which holds the device while it
//! runs a request, is not. With an ordinary lock that thread could be put aside for others in the
//! middle of a request, and what is due would wait for them all.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

/// The constant of pthread.h, which the crate libc has for other systems only.
const PTHREAD_PRIO_INHERIT: libc::c_int = 1;

unsafe extern "C" {
    fn pthread_mutexattr_setprotocol(
        attributes: *mut libc::pthread_mutexattr_t,
        protocol: libc::c_int,
    ) -> libc::c_int;
}

/// A value that one thread at a time has.
pub struct Lock<T> {
    /// Does not move: threads that wait have its address.
    mutex: Box<UnsafeCell<libc::pthread_mutex_t>>,
    value: UnsafeCell<T>,
}

// SAFETY: the mutex lets one thread at a time to the value, which may be sent to it.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The value, until this is dropped, by the thread that has it.
pub struct Held<'l, T> {
    lock: &'l Lock<T>,
    /// Not to be sent: a thread unlocks what it has locked itself.
    _here: PhantomData<*const ()>,
}

impl<T> Lock<T> {
    /// A value that nobody has.
    ///
    /// # Panics
    /// The C library has no such mutex.
    pub fn new(value: T) -> Self {
        let mut attributes = MaybeUninit::uninit();
        let mutex = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: attributes on the stack that the first call initialises and the last ends; a
        // mutex that nobody has locked.
        let made = unsafe {
            libc::pthread_mutexattr_init(attributes.as_mut_ptr()) == 0
                && pthread_mutexattr_setprotocol(attributes.as_mut_ptr(), PTHREAD_PRIO_INHERIT) == 0
                && libc::pthread_mutex_init(mutex.get(), attributes.as_ptr()) == 0
                && libc::pthread_mutexattr_destroy(attributes.as_mut_ptr()) == 0
        };
        assert!(made, "no mutex that inherits priorities");
        Self {
            mutex,
            value: UnsafeCell::new(value),
        }
    }

    /// Waits until the thread has it; it must not have it already.
    pub fn lock(&self) -> Held<'_, T> {
        // SAFETY: an initialised mutex.
        let status = unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        assert_eq!(status, 0, "locked twice by one thread");
        self.held()
    }

    /// As [`Self::lock`]; `None` where another thread has it.
    pub fn try_lock(&self) -> Option<Held<'_, T>> {
        // SAFETY: an initialised mutex.
        let status = unsafe { libc::pthread_mutex_trylock(self.mutex.get()) };
        (status == 0).then(|| self.held())
    }

    fn held(&self) -> Held<'_, T> {
        Held {
            lock: self,
            _here: PhantomData,
        }
    }
}

impl<T> Drop for Lock<T> {
    fn drop(&mut self) {
        // SAFETY: nobody has it, as all that is held borrows it.
        unsafe { libc::pthread_mutex_destroy(self.mutex.get()) };
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock, and nothing else refers to the value.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this thread has locked it.
        unsafe { libc::pthread_mutex_unlock(self.lock.mutex.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduling;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn one_thread_at_a_time_has_it() {
        let lock = Arc::new(Lock::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || (0..10_000).for_each(|_| *lock.lock() += 1))
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert_eq!(*lock.lock(), 40_000);
    }

    #[test]
    fn who_tries_does_not_wait() {
        let lock = Lock::new(());
        let held = lock.lock();
        thread::scope(|scope| {
            assert!(scope.spawn(|| lock.try_lock().is_none()).join().unwrap());
        });
        drop(held);
        assert!(lock.try_lock().is_some());
    }

    /// Runs on one processor, the first that this process may use.
    fn on_one_processor() {
        // SAFETY: sets of processors on the stack, and their size.
        unsafe {
            let (mut may, mut one): (libc::cpu_set_t, libc::cpu_set_t) = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            assert_eq!(libc::sched_getaffinity(0, size, &raw mut may), 0);
            let found = (0..libc::CPU_SETSIZE as usize).find(|&n| libc::CPU_ISSET(n, &may));
            libc::CPU_SET(found.unwrap(), &mut one);
            assert_eq!(libc::sched_setaffinity(0, size, &raw const one), 0);
        }
    }

    /// A thread of the ordinary policy has the lock, one under SCHED_RR waits for it, and
    /// a third, between them, takes the processor for itself.
    #[test]
    fn who_holds_it_runs_as_soon_as_who_waits_would() {
        /// Processor time that the request takes.
        const WORK: Duration = Duration::from_millis(20);
        /// The kernel lets others have a twentieth of the time, after 950 ms: less than that.
        const PATIENCE: Duration = Duration::from_millis(500);
        if thread::spawn(|| scheduling::realtime(2))
            .join()
            .unwrap()
            .is_err()
        {
            eprintln!("not tested: SCHED_RR is not permitted");
            return;
        }
        let (lock, held) = (Lock::new(()), AtomicBool::new(false));
        let (waits, has) = (AtomicBool::new(false), AtomicBool::new(false));
        let until = |flag: &AtomicBool| {
            while !flag.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        };
        let in_time = thread::scope(|scope| {
            scope.spawn(|| {
                on_one_processor();
                let request = lock.lock();
                held.store(true, Ordering::SeqCst);
                until(&waits);
                let start = Instant::now();
                while start.elapsed() < WORK {
                    std::hint::spin_loop();
                }
                drop(request);
            });
            until(&held);
            let third = scope.spawn(|| {
                on_one_processor();
                scheduling::realtime(2).unwrap();
                until(&waits);
                let start = Instant::now();
                while !has.load(Ordering::SeqCst) && start.elapsed() < PATIENCE {
                    std::hint::spin_loop();
                }
                has.load(Ordering::SeqCst)
            });
            scope.spawn(|| {
                // In this order: the third thread may have that processor already.
                scheduling::realtime(3).unwrap();
                on_one_processor();
                waits.store(true, Ordering::SeqCst);
                drop(lock.lock());
                has.store(true, Ordering::SeqCst);
            });
            third.join().unwrap()
        });
        assert!(
            in_time,
            "the thread that holds it had to wait for the third"
        );
    }
}
