// SPDX-License-Identifier: Apache-2.0
//! Records what clients ask, and when.

use super::Recorder;
use grpc_services::journal::{Journal, Pace, Turn, Work};
use recording::Encoder;
use std::sync::atomic::Ordering;

impl Journal for Recorder {
    fn asked(&self, method: &'static str, message: &[u8]) -> u64 {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        // A record without a time is the same from any encoder; it may be long, and is not to
        // be made while others wait.
        let mut record = Vec::new();
        Encoder::default().asked(&mut record, request, method, message);
        self.state.lock().record_made(record);
        request
    }

    fn said(&self, stream: u64, message: &[u8]) -> u64 {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let mut record = Vec::new();
        Encoder::default().said(&mut record, request, stream, message);
        self.state.lock().record_made(record);
        request
    }

    fn turn(&self, _: u64) -> Turn<'_> {
        Box::pin(std::future::ready(Pace::Clock))
    }

    fn ran(&self, request: u64, now_ns: u64, work: Work) {
        let mut state = self.state.lock();
        state.now = state.now.max(now_ns);
        state.record(|encoder, out| encoder.ran(out, request, now_ns, work));
    }

    fn answered(&self, request: u64, answer: u64) {
        let mut state = self.state.lock();
        state.record(|encoder, out| encoder.answered(out, request, answer));
    }

    fn left(&self, request: u64) {
        let mut state = self.state.lock();
        state.record(|encoder, out| encoder.left(out, request));
    }

    fn stream_opened(&self) -> u64 {
        let stream = self.streams.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.record(|encoder, out| encoder.stream_opened(out, stream));
        stream
    }

    fn stream_ended(&self, stream: u64) {
        let mut state = self.state.lock();
        state.record(|encoder, out| encoder.stream_ended(out, stream));
    }
}
