// SPDX-License-Identifier: Apache-2.0
//! Bounds the memory that clients make the server keep: their requests and what those become,
//! answers that they have not taken, and messages that wait for them.
//!
//! Each connection has a share of its own, whatever the others do. What it needs beyond its share
//! comes from a pool, of which one connection gets at most three quarters. So all connections
//! together take at most the pool and a share each, and no connection can keep another one from its
//! share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tonic::Status;

use crate::options::Limits;

/// What memory is used for. The error that says that there is no room depends on it, because it
/// tells the client what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Answers that wait for clients.
    Answers,
    /// Requests of clients.
    Requests,
}

/// The pool, and how much an account may take.
#[derive(Debug)]
pub struct Budget {
    share: usize,
    pool: usize,
    /// How many bytes of the pool are in use.
    used: AtomicUsize,
}

/// The memory that one connection takes.
#[derive(Debug)]
pub struct Account {
    budget: Arc<Budget>,
    used: AtomicUsize,
}

/// The memory that one request or answer takes of an account, until the charge is dropped.
#[derive(Debug)]
pub struct Charge {
    account: Arc<Account>,
    purpose: Purpose,
    bytes: usize,
}

impl Budget {
    pub fn new(limits: &Limits) -> Self {
        Budget {
            share: limits.share,
            pool: limits.pool,
            used: AtomicUsize::new(0),
        }
    }
}

impl Account {
    pub fn new(budget: &Arc<Budget>) -> Arc<Self> {
        Arc::new(Account {
            budget: Arc::clone(budget),
            used: AtomicUsize::new(0),
        })
    }

    /// A charge of no bytes yet.
    pub fn charge(self: &Arc<Self>, purpose: Purpose) -> Charge {
        Charge {
            account: Arc::clone(self),
            purpose,
            bytes: 0,
        }
    }

    /// What `used` bytes take of the pool.
    fn beyond(&self, used: usize) -> usize {
        used.saturating_sub(self.budget.share)
    }

    /// What it may take of the pool.
    fn most(&self) -> usize {
        self.budget.pool / 4 * 3
    }

    /// Bytes that it takes.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes bytes whether or not there is room.
    fn force(&self, bytes: usize) {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let more = self.beyond(before + bytes) - self.beyond(before);
        self.budget.used.fetch_add(more, Ordering::Relaxed);
    }

    fn has_room(&self, bytes: usize) -> bool {
        let beyond = self.beyond(self.used.load(Ordering::Relaxed) + bytes);
        let free = self
            .budget
            .pool
            .saturating_sub(self.budget.used.load(Ordering::Relaxed));
        beyond <= self.most() && (beyond == 0 || free >= bytes)
    }

    fn take(&self, bytes: usize) -> Result<(), Refused> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let beyond = self.beyond(before + bytes);
        let more = beyond - self.beyond(before);
        let budget = &self.budget;
        let used = budget.used.fetch_add(more, Ordering::Relaxed) + more;
        if more == 0 || (beyond <= self.most() && used <= budget.pool) {
            return Ok(());
        }
        self.give_back(bytes);
        Err(Refused {
            is_own: beyond > self.most(),
            most: budget.share + self.most(),
        })
    }

    fn give_back(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        let less = self.beyond(before) - self.beyond(before - bytes);
        self.budget.used.fetch_sub(less, Ordering::Relaxed);
    }
}

/// The reason why there is no room.
struct Refused {
    /// Whether the connection itself has all that one connection may have.
    is_own: bool,
    /// How many bytes one connection may have.
    most: usize,
}

impl Refused {
    fn status(&self, purpose: Purpose) -> Status {
        let most = self.most >> 10;
        Status::resource_exhausted(match (purpose, self.is_own) {
            (Purpose::Answers, true) => format!(
                "more than {most} KiB of answers would wait for this connection's client: read \
                 less at a time, and take what was asked for"
            ),
            (Purpose::Answers, false) => "other clients have not taken large answers yet: read \
                less at a time, or try again later"
                .to_owned(),
            (Purpose::Requests, true) => format!(
                "more than {most} KiB of requests of this connection would be in flight: send \
                 less at a time, and wait for the answers"
            ),
            (Purpose::Requests, false) => "there is no room left in what all clients may have in \
                flight: send less at a time, or try again later"
                .to_owned(),
        })
    }
}

impl Charge {
    /// Takes more bytes.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED if there is no room for them; then the charge stays as it was.
    pub fn add(&mut self, bytes: usize) -> Result<(), Status> {
        let taken = self.account.take(bytes);
        taken.map_err(|refused| refused.status(self.purpose))?;
        self.bytes += bytes;
        Ok(())
    }

    /// Whether there is room for so many bytes more.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.account.has_room(bytes)
    }

    /// Takes bytes that exist already, even if there is no room for them. Later requests for room
    /// are refused until it is back.
    pub fn force(&mut self, bytes: usize) {
        self.account.force(bytes);
        self.bytes += bytes;
    }

    /// Wraps bytes so that the charge lasts until their last copy is dropped.
    pub fn around(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Charged {
            bytes,
            _charge: self,
        })
    }

    /// Gives back so many bytes.
    pub fn release(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.account.give_back(bytes);
    }

    /// How many bytes the charge takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

struct Charged {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn budget(share: usize, pool: usize) -> Arc<Budget> {
        Arc::new(Budget {
            share,
            pool,
            used: AtomicUsize::new(0),
        })
    }

    #[test]
    fn nobody_takes_a_share_from_another() {
        let budget = budget(100, 1000);
        let hogs: Vec<_> = (0..5).map(|_| Account::new(&budget)).collect();
        let mut charges: Vec<Charge> = hogs
            .iter()
            .map(|hog| hog.charge(Purpose::Answers))
            .collect();
        for charge in &mut charges {
            while charge.add(10).is_ok() {}
        }
        let taken: Vec<_> = charges.iter().map(Charge::bytes).collect();
        assert_eq!(taken, [850, 350, 100, 100, 100]);
        let other = Account::new(&budget);
        let mut charge = other.charge(Purpose::Answers);
        charge.add(100).unwrap();
        assert!(
            charge
                .add(1)
                .unwrap_err()
                .message()
                .contains("other clients")
        );
        let own = charges[0].add(1).unwrap_err();
        assert!(own.message().contains("this connection"), "{own:?}");
        // An answer that was taken makes room.
        charges[0].release(500);
        charge.add(500).unwrap();
        assert!(
            charges[0]
                .add(1)
                .unwrap_err()
                .message()
                .contains("other clients")
        );
        drop((charge, charges));
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }

    proptest! {
        /// Whatever is taken and given back, the pool has what is beyond the shares.
        #[test]
        fn the_pool_is_what_is_beyond_the_shares(
            steps in prop::collection::vec((0usize..3, 0usize..4, 0usize..300), 0..200),
        ) {
            let budget = budget(100, 500);
            let accounts: Vec<_> = (0..3).map(|_| Account::new(&budget)).collect();
            let mut charges: Vec<Vec<Charge>> = accounts.iter().map(|_| Vec::new()).collect();
            for (who, what, bytes) in steps {
                let own = &mut charges[who];
                match (what, own.last_mut()) {
                    (0, Some(last)) => last.release(bytes),
                    (1, Some(_)) => drop(own.pop()),
                    (2, Some(last)) => drop(last.add(bytes)),
                    _ => {
                        let mut charge = accounts[who].charge(Purpose::Requests);
                        let _ = charge.add(bytes);
                        own.push(charge);
                    }
                }
                let sums = charges.iter().map(|own| own.iter().map(Charge::bytes).sum::<usize>());
                let sums: Vec<usize> = sums.collect();
                for (account, sum) in accounts.iter().zip(&sums) {
                    prop_assert_eq!(account.used.load(Ordering::Relaxed), *sum);
                    prop_assert!(*sum <= 100 + 375);
                }
                let beyond: usize = sums.iter().map(|sum| sum.saturating_sub(100)).sum();
                prop_assert_eq!(budget.used.load(Ordering::Relaxed), beyond);
                prop_assert!(beyond <= 500);
            }
        }
    }
}
