// SPDX-License-Identifier: Apache-2.0
//! A pipeline with a trace sink.

use super::event::{CopyKind, TraceEvent, TraceSink};
use super::recorder::Recorder;
use crate::outcome::*;
use crate::packet::Packet;
use crate::pipeline::Pipeline;
use std::sync::Arc;

impl Pipeline {
    /// Tells `sink` about packets that come in from now on, or (`None`) nobody.
    /// Traced packets run slower; others pay one comparison.
    pub fn set_trace(&mut self, sink: Option<Box<dyn TraceSink + Send>>) {
        self.trace.sink = sink;
    }

    /// Whether there is a sink.
    pub fn is_traced(&self) -> bool {
        self.trace.is_on()
    }

    /// Tells the sink what happens outside the pipeline, in queues and on ports,
    /// to a packet with this [`Packet::trace_number`]; 0 is no packet.
    #[inline]
    pub fn trace(&mut self, now_ns: u64, packet: u64, event: &TraceEvent<'_>) {
        if packet != 0 {
            self.tell(now_ns, packet, event);
        }
    }

    /// Gives a copy of a packet a number of its own. `of`: the packet's
    /// [`Packet::trace_number`]; when it is 0, the copy is not traced either.
    #[inline]
    pub fn trace_copy(&mut self, of: u64, kind: CopyKind, copy: &mut Packet) {
        copy.trace = 0;
        if of != 0 {
            self.number_copy(of, kind, copy);
        }
    }

    #[cold]
    fn number_copy(&mut self, of: u64, kind: CopyKind, copy: &mut Packet) {
        if let Some(sink) = &mut self.trace.sink {
            copy.trace = sink.copy(of);
            let now_ns = self.trace.now_ns;
            self.tell(now_ns, copy.trace, &TraceEvent::Copied { of, kind });
        }
    }

    #[cold]
    fn tell(&mut self, now_ns: u64, packet: u64, event: &TraceEvent<'_>) {
        self.trace.now_ns = now_ns;
        if let Some(sink) = &mut self.trace.sink {
            sink.event(packet, now_ns, event);
        }
    }

    /// Asks the sink whether it wants a frame that has just been received.
    #[cold]
    pub(crate) fn begin_trace(&mut self, now_ns: u64, port: u16, packet: &mut Packet) {
        let Some(sink) = &mut self.trace.sink else {
            return;
        };
        let length = packet.len;
        packet.trace = sink.begin(now_ns, port, packet.received()).unwrap_or(0);
        let number = packet.trace;
        self.trace(now_ns, number, &TraceEvent::Received { port, length });
    }

    /// Ingress of a packet that is traced.
    #[cold]
    pub(crate) fn traced_ingress(&mut self, packet: &mut Packet) -> IngressOutcome {
        let program = Arc::clone(&self.program);
        let now_ns = self.trace.now_ns;
        // Taken out: the pipeline and its sink are borrowed apart.
        let Some(mut sink) = self.trace.sink.take() else {
            packet.trace = 0;
            return self.run_ingress(packet, &mut super::Off);
        };
        let mut recorder = Recorder::new(&program, sink.as_mut(), packet.trace, now_ns);
        let outcome = self.run_ingress(packet, &mut recorder);
        recorder.clone_and_digest(outcome.clone, outcome.digest);
        match outcome.fate {
            Fate::Drop => recorder.dropped(),
            Fate::Resubmit => recorder.tell(&TraceEvent::Resubmitted),
            Fate::Unicast { .. } | Fate::Multicast { .. } => {}
        }
        self.trace.sink = Some(sink);
        outcome
    }

    /// Egress of a packet that is traced.
    #[cold]
    pub(crate) fn traced_egress(
        &mut self,
        now_ns: u64,
        metadata: &EgressMetadata,
        packet: &mut Packet,
        out: &mut Vec<u8>,
    ) -> EgressOutcome {
        let program = Arc::clone(&self.program);
        self.trace.now_ns = now_ns;
        let Some(mut sink) = self.trace.sink.take() else {
            packet.trace = 0;
            return self.run_egress(now_ns, metadata, packet, out, &mut super::Off);
        };
        let mut recorder = Recorder::new(&program, sink.as_mut(), packet.trace, now_ns);
        let outcome = self.run_egress(now_ns, metadata, packet, out, &mut recorder);
        recorder.clone_and_digest(outcome.clone, None);
        let length = out.len();
        match outcome.fate {
            EgressFate::Drop => recorder.dropped(),
            EgressFate::Send => recorder.tell(&TraceEvent::Deparsed { length }),
            EgressFate::Recirculate => {
                recorder.tell(&TraceEvent::Deparsed { length });
                recorder.tell(&TraceEvent::Recirculated);
            }
        }
        self.trace.sink = Some(sink);
        outcome
    }
}
