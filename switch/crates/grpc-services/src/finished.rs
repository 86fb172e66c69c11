// SPDX-License-Identifier: Apache-2.0
//! Futures that are run to their end even where nobody waits for them any more.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

use crate::journal;

/// A future that, when dropped too early, goes on as a task of its own.
pub struct Finished<T: Send + 'static>(Option<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T: Send + 'static> Finished<T> {
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        // The new task still works for the same request, as the journal sees it.
        let call = journal::current();
        Finished(Some(Box::pin(journal::for_the_same(call, future))))
    }
}

impl<T: Send + 'static> Future for Finished<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        let answer = future.as_mut().poll(context);
        if answer.is_ready() {
            self.0 = None;
        }
        answer
    }
}

impl<T: Send + 'static> Drop for Finished<T> {
    fn drop(&mut self) {
        // There is no runtime only if the process is ending.
        if let (Some(future), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn a_future_that_is_dropped_goes_on() {
        let (start, started) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let mut future = Finished::new(async move {
            let _ = started.await;
            let _ = done.send(7);
        });
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut future).poll(&mut context).is_pending());
        drop(future);
        start.send(()).unwrap();
        assert_eq!(is_done.await, Ok(7));
        assert_eq!(Finished::new(async { 8 }).await, 8);
    }
}
