// SPDX-License-Identifier: Apache-2.0
//! Changes of a plant's upstream channels: all of a request, or nothing.

use std::collections::BTreeMap;

use crate::channel::RfEnds;
use crate::configuration::{Configuration, GrantedPort, Refused};
use crate::node::Node;
use crate::plan::{Plan, Ready};
use crate::run::Plant;

impl Plant {
    /// Changes channels, granted ports and service flows, from `now` on: all of it or nothing. What
    /// is there as the request has it goes on undisturbed. All that is due before `now` is to have
    /// happened: see [`Plant::run`].
    ///
    /// # Errors
    /// What is not possible, in a sentence that names the channel, the port or the SID.
    pub fn configure<N: Node>(
        &mut self,
        nodes: &mut [N],
        now: u64,
        request: Configuration,
    ) -> Result<(), Refused> {
        let now = now.max(self.time);
        let Plan {
            dropped,
            new,
            granted,
            ready,
        } = self.plan(nodes, now, request)?;
        // Nothing is refused from here on.
        self.time = now;
        self.grant(nodes, now, &granted);
        self.drop_channels(&dropped);
        self.channels.extend(new);
        self.attach_captures();
        self.channels.sort_by_key(|one| one.number);
        self.commit(nodes, now, ready);
        Ok(())
    }

    fn grant<N: Node>(&mut self, nodes: &mut [N], now: u64, ports: &[GrantedPort]) {
        for GrantedPort { end, primary } in ports {
            let node = nodes.get_mut(end.node as usize);
            let granted = node.map(|node| node.device_mut().set_granted(now, end.port, *primary));
            // The device was asked before, and nothing happened since.
            debug_assert_eq!(granted, Some(Ok(())));
            self.granted.insert(*end, *primary);
        }
    }

    fn drop_channels(&mut self, dropped: &[u8]) {
        self.carried
            .retain(|_, (number, _)| !dropped.contains(number));
        let frames = &mut self.frames;
        self.channels.retain_mut(|one| {
            let stays = !dropped.contains(&one.number);
            if !stays {
                if let Some(capture) = one.capture.take() {
                    let file = capture.into_inner().into_file();
                    self.captures.insert(one.name.clone(), file);
                }
                // What is under way on it never arrives.
                let lost = one.channel.frames_under_way();
                frames.on_channels -= lost;
                frames.abandoned += lost;
            }
            stays
        });
    }

    fn commit<N: Node>(&mut self, nodes: &mut [N], now: u64, mut ready: BTreeMap<u8, Ready>) {
        for channel in &mut self.channels {
            let Some(Ready {
                prepared,
                removed,
                set,
            }) = ready.remove(&channel.number)
            else {
                continue;
            };
            let at = now.saturating_sub(channel.behind);
            let mut ends = RfEnds {
                nodes,
                frames: &mut self.frames,
                members: &channel.members,
                behind: channel.behind,
                number: channel.number,
                clock: channel.channel.profile().clock,
                capture: channel.capture.as_ref(),
                touched: &mut self.touched,
            };
            channel.channel.commit(at, prepared, &mut ends);
            for sid in removed {
                let Some(member) = channel.members.remove(sid) else {
                    continue;
                };
                let key = (member.device, member.queue);
                // Another channel may have the queue already.
                if self.carried.get(&key) == Some(&(channel.number, sid)) {
                    self.carried.remove(&key);
                }
            }
            for (flow, member) in set {
                if let Some(capture) = &mut channel.capture {
                    capture.get_mut().flow(&flow);
                }
                channel.members.put(flow.sid, member);
                let key = (member.device, member.queue);
                self.carried.insert(key, (channel.number, flow.sid));
                // Frames may wait already.
                channel.woken.push(flow.sid);
            }
            channel.downstream = channel.members.downstream();
        }
    }
}
