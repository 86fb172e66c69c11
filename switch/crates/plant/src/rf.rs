// SPDX-License-Identifier: Apache-2.0
//! RF links, which carry frames from a port without an interface to another device.

use device::events::Event;
use device::{Note, Output};

use crate::channel::Frames;
use crate::node::End;

/// The other ends of RF links, by node and port.
#[derive(Debug, Default)]
pub struct Links(Vec<Vec<Option<End>>>);

impl Links {
    /// Joins two ports.
    ///
    /// # Errors
    /// One of them is joined already, or both are of one device.
    pub fn join(&mut self, ends: [End; 2]) -> Result<(), String> {
        let [one, other] = ends;
        if one.node == other.node {
            return Err("an RF link joins ports of two devices".to_owned());
        }
        if let Some(end) = ends.iter().find(|end| self.far(**end).is_some()) {
            return Err(format!("port {} has an RF link already", end.port));
        }
        for (near, far) in [(one, other), (other, one)] {
            let node = near.node as usize;
            if self.0.len() <= node {
                self.0.resize(node + 1, Vec::new());
            }
            let (ports, port) = (&mut self.0[node], usize::from(near.port));
            if ports.len() <= port {
                ports.resize(port + 1, None);
            }
            ports[port] = Some(far);
        }
        Ok(())
    }

    /// The other end of a port's RF link.
    pub fn far(&self, end: End) -> Option<End> {
        let ports = self.ports(end.node);
        ports.get(usize::from(end.port)).copied().flatten()
    }

    /// The other ends of a device's RF links, by port.
    pub fn ports(&self, node: u32) -> &[Option<End>] {
        self.0.get(node as usize).map_or(&[], Vec::as_slice)
    }
}

/// A frame that left through a port with an RF link.
#[derive(Debug)]
pub struct Crossing {
    /// Which port.
    pub from: u16,
    /// The other end.
    pub to: End,
    /// When it left, ns.
    pub at: u64,
    pub frame: Vec<u8>,
}

/// A device's way out: RF links, and whatever else it has.
pub struct Ways<'a, O> {
    /// The other ends of its RF links, by port.
    pub far: &'a [Option<End>],
    pub crossing: &'a mut Vec<Crossing>,
    pub frames: &'a mut Frames,
    pub out: &'a mut O,
}

impl<O: Output> Ways<'_, O> {
    fn rf(&self, port: u16) -> Option<End> {
        self.far.get(usize::from(port)).copied().flatten()
    }

    fn cross(&mut self, at: u64, from: u16, to: End, frame: &mut Vec<u8>) {
        let frame = std::mem::replace(frame, self.frames.buffer());
        self.crossing.push(Crossing {
            from,
            to,
            at,
            frame,
        });
    }
}

impl<O: Output> Output for Ways<'_, O> {
    fn transmit(&mut self, now_ns: u64, port: u16, frame: &[u8], paced: bool) {
        match self.rf(port) {
            Some(to) => self.cross(now_ns, port, to, &mut frame.to_vec()),
            None => self.out.transmit(now_ns, port, frame, paced),
        }
    }

    fn transmit_noted(
        &mut self,
        now_ns: u64,
        port: u16,
        frame: &mut Vec<u8>,
        paced: bool,
        note: Option<Note>,
    ) {
        match self.rf(port) {
            Some(to) => self.cross(now_ns, port, to, frame),
            None => self.out.transmit_noted(now_ns, port, frame, paced, note),
        }
    }

    fn is_full(&self, port: u16) -> bool {
        self.rf(port).is_none() && self.out.is_full(port)
    }

    fn packet_in(&mut self, now_ns: u64, frame: &[u8]) -> bool {
        self.out.packet_in(now_ns, frame)
    }

    fn event(&mut self, now_ns: u64, event: Event) -> bool {
        self.out.event(now_ns, event)
    }
}
