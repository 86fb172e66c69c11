// SPDX-License-Identifier: Apache-2.0
//! The gRPC service docsis.mac.v1.UpstreamChannels.

use plant::mac_wire::{Capacity, FlowConfig, FlowSettings, Profile, Setting, Settings, Sid};
use plant::{
    ChannelConfig, Configuration, End, FlowPlace, GrantedPort, Look, MOST_FLOWS, MapTraffic,
    PlantGone, PlantHandle, Refused,
};
use tonic::{Code, Request, Response, Status};

use crate::channel_state::{self, ChannelView};
use crate::failure::Failure;
use crate::proto::docsis::mac::v1 as mac;
use crate::proto::docsis::mac::v1::upstream_channels_server::UpstreamChannels;

/// The most channels of a plant, because a MAP has one byte for a channel's number.
const MOST_CHANNELS: usize = 255;
/// The longest name of a channel, key or word, bytes.
const LONGEST_NAME: usize = 64;
/// The most MAPs of a channel in an answer. It is limited because packets wait while they are
/// copied.
const MOST_MAPS: usize = 16;
/// The most settings of a channel or of a service flow.
const MOST_SETTINGS: usize = 64;

/// Implements the service over a plant, if there is one.
#[derive(Clone, Debug)]
pub struct ChannelsService {
    pub plant: Option<PlantHandle>,
}

#[tonic::async_trait]
impl UpstreamChannels for ChannelsService {
    async fn configure(
        &self,
        request: Request<mac::ConfigureRequest>,
    ) -> Result<Response<mac::ConfigureResponse>, Status> {
        let plant = self.plant()?;
        let configuration = configuration(plant, request.into_inner())?;
        let result = plant.configure(configuration).await;
        match result.map_err(|gone: PlantGone| Status::unavailable(gone.to_string()))? {
            Ok(()) => Ok(Response::new(mac::ConfigureResponse {})),
            Err(Refused::Invalid(words)) => Err(Status::invalid_argument(words)),
            Err(Refused::Precondition(words)) => Err(Status::failed_precondition(words)),
            Err(Refused::NotFound(words)) => Err(Status::not_found(words)),
        }
    }

    async fn get(
        &self,
        request: Request<mac::GetRequest>,
    ) -> Result<Response<mac::GetResponse>, Status> {
        let plant = self.plant()?;
        let maps = usize::try_from(request.into_inner().maps).unwrap_or(usize::MAX);
        let maps = maps.min(MOST_MAPS);
        let mut answer = mac::GetResponse::default();
        // Channels are read one at a time, so that packets go on in between.
        for index in 0..MOST_CHANNELS {
            let devices: Vec<u64> = plant.devices().to_vec();
            let looked = plant.look(move |plant, now| {
                let look = plant.channels().nth(index);
                (now, look.map(|look| state(&look, maps, &devices)))
            });
            let looked = looked.await;
            let (now, channel) = looked.map_err(|gone| Status::unavailable(gone.to_string()))?;
            answer.now_ns = now;
            let Some(channel) = channel else { break };
            answer.channels.push(channel);
        }
        Ok(Response::new(answer))
    }
}

/// Reads a channel's state, with at most so many of its last MAPs.
fn state(look: &Look<'_>, maps: usize, devices: &[u64]) -> mac::ChannelState {
    let view = ChannelView {
        name: look.name,
        number: look.number,
        now: look.now,
        channel: look.channel,
        watch: Some(look.watch),
        maps,
    };
    let place = |sid| {
        let member = look.members.get(sid)?;
        Some(channel_state::FlowPlace {
            device_id: *devices.get(member.device as usize)?,
            port: member.queue.port,
            queue_id: member.queue.queue_id,
        })
    };
    mac::ChannelState {
        maps_late: Some(channel_state::distribution(look.maps_late)),
        ..view.state(place)
    }
}

impl ChannelsService {
    fn plant(&self) -> Result<&PlantHandle, Status> {
        self.plant.as_ref().ok_or_else(|| {
            Status::failed_precondition(
                "this switch has no RF link for upstream channels; start it with --rf-link",
            )
        })
    }
}

fn configuration(
    plant: &PlantHandle,
    request: mac::ConfigureRequest,
) -> Result<Configuration, Failure> {
    let most = [
        ("channels", request.channels.len(), MOST_CHANNELS),
        ("granted_ports", request.granted_ports.len(), MOST_CHANNELS),
        ("service_flows", request.service_flows.len(), MOST_FLOWS),
        ("removed", request.removed.len(), MOST_FLOWS),
        ("capacities", request.capacities.len(), MOST_CHANNELS),
    ];
    for (what, there, most) in most {
        if there > most {
            return Err(Failure::new(
                Code::ResourceExhausted,
                format!("the request has {there} {what}, more than {most}; send several requests"),
            ));
        }
    }
    let channels = request.channels.into_iter().map(channel);
    let granted = request.granted_ports.iter().map(|port| {
        Ok(GrantedPort {
            end: end(plant, port.device_id, port.port)?,
            primary: port.primary_queue_id,
        })
    });
    let flows = request.service_flows.into_iter();
    let flows = flows.map(|flow| service_flow(plant, flow));
    let removed = request.removed.into_iter().map(|one| {
        let channel = short("channel", one.channel)?;
        Ok((channel, sid(one.sid)?))
    });
    let capacities = request.capacities.into_iter().map(capacity);
    Ok(Configuration {
        channels: channels.collect::<Result<_, Failure>>()?,
        granted: granted.collect::<Result<_, Failure>>()?,
        flows: flows.collect::<Result<_, Failure>>()?,
        removed: removed.collect::<Result<_, Failure>>()?,
        capacities: capacities.collect::<Result<_, Failure>>()?,
        complete: request.complete,
    })
}

fn channel(channel: mac::Channel) -> Result<ChannelConfig, Failure> {
    let name = short("name", channel.name)?;
    if name.is_empty() {
        return Err(Failure::invalid("a channel has no name; give it one"));
    }
    let number = u8::try_from(channel.number)
        .ok()
        .filter(|&number| number > 0);
    let number = number.ok_or_else(|| {
        Failure::invalid(format!(
            "channel \"{name}\" has number {}; it is 1 to 255",
            channel.number
        ))
    })?;
    at_most_settings(channel.settings.len())?;
    let mut settings = Settings::new();
    for (key, value) in channel.settings {
        let value = setting(&key, value)?;
        settings.insert(short("a key of settings", key)?, value);
    }
    let profile = short("profile", channel.profile)?;
    let profile = Profile::with_settings(&profile, &settings)
        .map_err(|words| Failure::invalid(format!("channel \"{name}\": {words}")))?;
    Ok(ChannelConfig {
        name,
        number,
        profile,
        map_traffic: channel.map_traffic.map(|each| MapTraffic {
            message: each.message,
            element: each.element,
        }),
    })
}

fn capacity(given: mac::ChannelCapacity) -> Result<(String, Option<Capacity>), Failure> {
    let channel = short("channel", given.channel)?;
    let variation_percent = u8::try_from(given.variation_percent).map_err(|_| {
        Failure::invalid(format!(
            "channel \"{channel}\": variation_percent is {}; it is at most 100",
            given.variation_percent
        ))
    })?;
    let capacity = (given.rate > 0).then_some(Capacity {
        rate: given.rate,
        variation_percent,
    });
    Ok((channel, capacity))
}

fn setting(key: &str, setting: mac::Setting) -> Result<Setting, Failure> {
    use mac::setting::Value;
    match setting.value {
        Some(Value::Number(number)) => Ok(Setting::Number(number)),
        Some(Value::Flag(flag)) => Ok(Setting::Switch(flag)),
        Some(Value::Word(word)) => Ok(Setting::Word(short("a word of settings", word)?)),
        Some(Value::Absent(_)) => Ok(Setting::Absent),
        None => {
            let key: String = key.chars().take(LONGEST_NAME).collect();
            Err(Failure::invalid(format!("the setting {key} has no value")))
        }
    }
}

fn service_flow(plant: &PlantHandle, flow: mac::ServiceFlow) -> Result<FlowPlace, Failure> {
    let channel = short("channel", flow.channel)?;
    let place = format!("channel \"{channel}\", SID {}", flow.sid);
    at_most_settings(flow.settings.len())?;
    let mut settings = FlowSettings::new();
    for (key, value) in flow.settings {
        settings.insert(short("a key of settings", key)?, value);
    }
    let kind = short("scheduling_type", flow.scheduling_type)?;
    let config = FlowConfig::with_settings(sid(flow.sid)?, &kind, settings)
        .map_err(|words| Failure::invalid(format!("{place}: {words}")))?;
    Ok(FlowPlace {
        channel,
        end: end(plant, flow.device_id, flow.port)?,
        queue_id: flow.queue_id,
        flow: config,
    })
}

fn sid(number: u32) -> Result<Sid, Failure> {
    let sid = u16::try_from(number).ok().map(Sid);
    let sid = sid.filter(|sid| (1..=Sid::LAST_UNICAST.0).contains(&sid.0));
    sid.ok_or_else(|| {
        Failure::invalid(format!(
            "SID {number} is not one of a service flow, 1 to {}",
            Sid::LAST_UNICAST.0
        ))
    })
}

fn end(plant: &PlantHandle, device_id: u64, port: u32) -> Result<End, Failure> {
    let port = u16::try_from(port)
        .map_err(|_| Failure::invalid(format!("port {port} is not within 0 to 65535")))?;
    let node = plant.devices().iter().position(|&id| id == device_id);
    let node = node.and_then(|node| u32::try_from(node).ok());
    let node = node.ok_or_else(|| {
        Failure::not_found(format!("there is no device {device_id} with an RF link"))
    })?;
    Ok(End { node, port })
}

/// Checks that a string is not too long.
fn short(what: &str, text: String) -> Result<String, Failure> {
    if text.len() <= LONGEST_NAME {
        return Ok(text);
    }
    Err(Failure::invalid(format!(
        "{what} has {} bytes, more than {LONGEST_NAME}",
        text.len()
    )))
}

fn at_most_settings(there: usize) -> Result<(), Failure> {
    if there <= MOST_SETTINGS {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "there are {there} settings, more than {MOST_SETTINGS}"
    )))
}
