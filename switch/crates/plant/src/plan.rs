// SPDX-License-Identifier: Apache-2.0
//! Plans what a request would change in a plant's channels, or says why not. Nothing changes here.

use std::collections::{BTreeMap, BTreeSet};

use device::QueueId;
use mac_channel::{Channel, Histogram, MOST_MAPS, Prepared, Refusal, Watch};
use mac_wire::{Capacity, FlowConfig, Sid};

use crate::channel::Upstream;
use crate::configuration::{
    ChannelConfig, Configuration, FlowPlace, GrantedPort, MOST_MAP_BYTES, MOST_MAPS_A_SECOND,
    Refused,
};
use crate::members::{Member, Members};
use crate::node::{End, Node};
use crate::run::Plant;

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// What of a request is to be done to one channel.
#[derive(Default)]
struct Change {
    removed: Vec<Sid>,
    set: Vec<(FlowConfig, Member)>,
    capacity: Option<Option<Capacity>>,
}

/// The same, which the channel's scheduler takes.
pub struct Ready {
    pub prepared: Prepared,
    pub removed: Vec<Sid>,
    pub set: Vec<(FlowConfig, Member)>,
}

/// A request that nothing speaks against.
pub struct Plan {
    /// Numbers of channels that go.
    pub dropped: Vec<u8>,
    /// Channels that come.
    pub new: Vec<Upstream>,
    /// Ports that are to be granted and are not yet.
    pub granted: Vec<GrantedPort>,
    /// By the channel's number.
    pub ready: BTreeMap<u8, Ready>,
}

/// Channels as they are to be, by name.
type After<'a> = BTreeMap<&'a str, &'a Upstream>;

impl Plant {
    /// What a request would do at `now`.
    ///
    /// # Errors
    /// What is not possible.
    pub(crate) fn plan<N: Node>(
        &self,
        nodes: &[N],
        now: u64,
        request: Configuration,
    ) -> Result<Plan, Refused> {
        let complete = request.complete;
        let (dropped, new) = self.channels_after(now, request.channels, complete)?;
        let staying = |one: &&Upstream| !dropped.contains(&one.number);
        let mut after = After::new();
        after.extend(
            self.channels
                .iter()
                .filter(staying)
                .map(|one| (&*one.name, one)),
        );
        after.extend(new.iter().map(|one| (&*one.name, one)));
        check_maps(&after)?;
        let granted = self.granted_after(nodes, request.granted, complete)?;
        let mut changes: BTreeMap<u8, Change> = BTreeMap::new();
        for (name, sid) in &request.removed {
            let channel = channel_of(&after, name)?;
            if channel.members.active(*sid).is_none() {
                let words = format!("channel \"{name}\" has no SID {}", sid.0);
                return Err(Refused::NotFound(words));
            }
            changes
                .entry(channel.number)
                .or_default()
                .removed
                .push(*sid);
        }
        if complete {
            self.remove_others(&after, &request.flows, &mut changes);
        }
        self.place_flows(&after, &granted, request.flows, &mut changes)?;
        for (name, capacity) in &request.capacities {
            let channel = channel_of(&after, name)?;
            changes.entry(channel.number).or_default().capacity = Some(*capacity);
        }
        let mut ready = BTreeMap::new();
        for (number, change) in changes {
            let Change {
                removed,
                set,
                capacity,
            } = change;
            let Some(channel) = after.values().find(|one| one.number == number) else {
                continue;
            };
            let at = now.saturating_sub(channel.behind);
            let flows = set.iter().map(|(flow, _)| *flow).collect();
            let prepared = channel
                .channel
                .prepare(at, removed.clone(), flows, capacity);
            let prepared = prepared.map_err(|(sid, Refusal(words))| {
                let sid = sid.map_or(String::new(), |sid| format!(", SID {}", sid.0));
                let place = format!("channel \"{}\"{sid}", channel.name);
                Refused::Precondition(format!("{place}: {words}"))
            })?;
            let of_channel = Ready {
                prepared,
                removed,
                set,
            };
            ready.insert(number, of_channel);
        }
        Ok(Plan {
            dropped,
            new,
            granted,
            ready,
        })
    }

    /// Which channels go, and those that come.
    fn channels_after(
        &self,
        now: u64,
        wanted: Vec<ChannelConfig>,
        complete: bool,
    ) -> Result<(Vec<u8>, Vec<Upstream>), Refused> {
        let same = |one: &Upstream, other: &ChannelConfig| {
            one.name == other.name
                && one.number == other.number
                && *one.channel.profile() == other.profile
                && one.map_traffic == other.map_traffic
        };
        let mut dropped = Vec::new();
        if complete {
            let goes = |one: &&Upstream| !wanted.iter().any(|other| same(one, other));
            dropped.extend(self.channels.iter().filter(goes).map(|one| one.number));
        }
        let stays = |one: &&Upstream| !dropped.contains(&one.number);
        let staying: Vec<_> = self.channels.iter().filter(stays).collect();
        let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
        let mut new = Vec::new();
        for config in wanted {
            let name = &config.name;
            if !names.insert(name.clone()) {
                let words = format!("channel \"{name}\" is there twice; name it once");
                return Err(Refused::Invalid(words));
            }
            if !numbers.insert(config.number) || config.number == 0 {
                return Err(Refused::Invalid(format!(
                    "channel \"{name}\" has number {}; each channel has one of its own from 1 to 255",
                    config.number
                )));
            }
            if staying.iter().any(|one| same(one, &config)) {
                continue;
            }
            let other = |one: &&&Upstream| one.name == *name || one.number == config.number;
            if let Some(other) = staying.iter().find(other) {
                return Err(Refused::Precondition(format!(
                    "channel \"{name}\" with number {} cannot come, as there is channel \"{}\" with \
                     number {} and other numbers; send a complete configuration to replace it",
                    config.number, other.name, other.number
                )));
            }
            new.push(self.made(now, config)?);
        }
        Ok((dropped, new))
    }

    fn made(&self, now: u64, config: ChannelConfig) -> Result<Upstream, Refused> {
        let ChannelConfig {
            name,
            number,
            profile,
            map_traffic,
        } = config;
        if let Some(each) =
            map_traffic.filter(|each| each.message.max(each.element) > MOST_MAP_BYTES)
        {
            return Err(Refused::Invalid(format!(
                "channel \"{name}\" has MAPs of {} bytes and {} for each information element, where \
                 {MOST_MAP_BYTES} are the most",
                each.message, each.element
            )));
        }
        // Channels draw from streams of their own.
        let seed = self.seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let channel = Channel::new(profile, number, seed);
        let channel = channel
            .map_err(|Refusal(words)| Refused::Invalid(format!("channel \"{name}\": {words}")))?;
        Ok(Upstream {
            name,
            number,
            channel,
            members: Members::default(),
            behind: now,
            maps_late: Histogram::default(),
            watch: Watch::new(MOST_MAPS),
            capture: None,
            map_traffic,
            downstream: Vec::new(),
            woken: Vec::new(),
        })
    }

    /// Ports that are to be granted and are not yet.
    fn granted_after<N: Node>(
        &self,
        nodes: &[N],
        wanted: Vec<GrantedPort>,
        complete: bool,
    ) -> Result<Vec<GrantedPort>, Refused> {
        let mut new: Vec<GrantedPort> = Vec::new();
        let mut named = BTreeSet::new();
        for port in wanted {
            let words = place(nodes, port.end);
            if !named.insert(port.end) {
                return Err(Refused::Invalid(format!(
                    "{words} is there twice; name it once"
                )));
            }
            match self.granted.get(&port.end) {
                Some(primary) if *primary == port.primary => continue,
                Some(primary) => {
                    return Err(Refused::Precondition(format!(
                        "{words} is granted, with primary queue {primary}, which stays"
                    )));
                }
                None => {}
            }
            if self.far(port.end).is_none() {
                return Err(Refused::Precondition(format!(
                    "{words} has no RF link to a CMTS; start the switch with --rf-link"
                )));
            }
            let device = nodes.get(port.end.node as usize).map(Node::device);
            let may = device.map(|device| device.may_grant(port.end.port, port.primary));
            if let Some(Err(refused)) = may {
                let words = format!("{}{refused}", of_device(nodes, port.end.node));
                return Err(Refused::Precondition(words));
            }
            new.push(port);
        }
        let left = |end: &&End| complete && !named.contains(end);
        if let Some(end) = self.granted.keys().find(left) {
            return Err(Refused::Precondition(format!(
                "{} is granted, and stays so; a complete configuration has to name it",
                place(nodes, *end)
            )));
        }
        Ok(new)
    }

    /// Removes service flows that are not named from the channels that stay.
    fn remove_others(
        &self,
        after: &After<'_>,
        named: &[FlowPlace],
        changes: &mut BTreeMap<u8, Change>,
    ) {
        let named: BTreeSet<_> = named
            .iter()
            .map(|one| (&*one.channel, one.flow.sid))
            .collect();
        for (name, channel) in after {
            let change = changes.entry(channel.number).or_default();
            for (sid, _) in channel.members.iter() {
                if !named.contains(&(*name, sid)) && !change.removed.contains(&sid) {
                    change.removed.push(sid);
                }
            }
        }
    }

    fn place_flows(
        &self,
        after: &After<'_>,
        granted: &[GrantedPort],
        flows: Vec<FlowPlace>,
        changes: &mut BTreeMap<u8, Change>,
    ) -> Result<(), Refused> {
        let mut named = BTreeSet::new();
        let mut queues = BTreeSet::new();
        for one in flows {
            let (channel, sid) = (channel_of(after, &one.channel)?, one.flow.sid);
            let words = format!("channel \"{}\", SID {}", one.channel, sid.0);
            let end = one.end;
            let queue = QueueId {
                port: end.port,
                queue_id: one.queue_id,
            };
            if !named.insert((channel.number, sid)) || !queues.insert((end.node, queue)) {
                return Err(Refused::Invalid(format!(
                    "{words}: its SID or {queue} is there twice; each service flow has its own"
                )));
            }
            if one.queue_id == 0 {
                return Err(Refused::Invalid(format!(
                    "{words}: queue 0 is no service flow's: what goes there is sent by the primary one"
                )));
            }
            let is_granted =
                self.granted.contains_key(&end) || granted.iter().any(|granted| granted.end == end);
            let Some(far) = self.far(end).filter(|_| is_granted) else {
                return Err(Refused::Precondition(format!(
                    "{words}: port {} sends by itself; grant it first (granted_ports)",
                    end.port
                )));
            };
            let change = changes.entry(channel.number).or_default();
            let member = Member {
                device: end.node,
                queue,
                to: (far.node, far.port),
                active: true,
            };
            let goes = change.removed.contains(&sid);
            match channel.members.active(sid).filter(|_| !goes) {
                Some(before) if before != member => {
                    return Err(Refused::Precondition(format!(
                        "{words} is that of {}; remove that service flow first",
                        before.queue
                    )));
                }
                Some(_) if channel.channel.flow(sid) == Some(&one.flow) => continue,
                _ => change.set.push((one.flow, member)),
            }
        }
        // A queue is on one channel, as one SID. What goes leaves its queue to others.
        for (number, change) in &*changes {
            for (flow, member) in &change.set {
                let key = (member.device, member.queue);
                let Some((channel, sid)) = self.carried.get(&key) else {
                    continue;
                };
                let stays = after.values().any(|one| one.number == *channel)
                    && !changes
                        .get(channel)
                        .is_some_and(|one| one.removed.contains(sid));
                if stays && (*channel, *sid) != (*number, flow.sid) {
                    return Err(Refused::Precondition(format!(
                        "SID {}: {} is SID {} of channel {channel} already; remove that first",
                        flow.sid.0, member.queue, sid.0
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Refuses channels that together make more MAPs than a thread keeps up with.
fn check_maps(after: &After<'_>) -> Result<(), Refused> {
    let each = after.values().map(|one| {
        let length = one.channel.profile().map_length();
        SECOND.div_ceil(length.max(1))
    });
    let maps: u64 = each.sum();
    if maps <= MOST_MAPS_A_SECOND {
        return Ok(());
    }
    Err(Refused::Precondition(format!(
        "the {} channels would make {maps} MAPs a second, where {MOST_MAPS_A_SECOND} are the most; \
         make MAPs longer, or channels fewer",
        after.len()
    )))
}

fn channel_of<'a>(after: &After<'a>, name: &str) -> Result<&'a Upstream, Refused> {
    let channel = after.get(name).copied();
    channel.ok_or_else(|| Refused::NotFound(format!("there is no channel \"{name}\"")))
}

fn of_device<N: Node>(nodes: &[N], node: u32) -> String {
    let id = |node: &N| node.device().config().device_id;
    let id = nodes.get(node as usize).map_or(0, id);
    format!("device {id}, ")
}

fn place<N: Node>(nodes: &[N], end: End) -> String {
    format!("{}port {}", of_device(nodes, end.node), end.port)
}
