// SPDX-License-Identifier: Apache-2.0
//! `docsis-switch ctl`: a client of docsis.switch.v1.Switch.

mod info;
mod lateness;
mod tls;
mod trace;

use crate::cli::{Ctl, CtlArgs};
use crate::process::to_proto;
use grpc_services::proto::docsis::switch::v1 as switch;
use grpc_services::proto::docsis::switch::v1::switch_client::SwitchClient;
use grpc_services::proto::docsis::tm::v1::GetLatenessRequest;
use grpc_services::proto::docsis::tm::v1::traffic_manager_client::TrafficManagerClient;
use serde_json::{Value, json};
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};

/// How long the switch may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks, and prints the answer.
///
/// # Errors
/// One sentence: there is no switch, or what it said.
pub fn run(args: &CtlArgs) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no thread for gRPC: {error}"))?;
    let text = runtime.block_on(ask(args))?;
    print!("{text}");
    Ok(())
}

async fn connect(args: &CtlArgs) -> Result<Channel, String> {
    let mut endpoint = Endpoint::from_shared(args.address.uri(args.tls_ca.is_some()))
        .map_err(|error| format!("address {}: {error}", args.address))?
        .connect_timeout(PATIENCE)
        .timeout(PATIENCE);
    if let Some(ca) = &args.tls_ca {
        endpoint = tls::secured(endpoint, ca, args)?;
    }
    endpoint.connect().await.map_err(|error| {
        format!(
            "no switch answers on {}; give its --grpc-server-addr as --address ({error})",
            args.address
        )
    })
}

async fn ask(args: &CtlArgs) -> Result<String, String> {
    let channel = connect(args).await?;
    let mut client = SwitchClient::new(channel.clone());
    let said = |status: tonic::Status| match status.code() {
        tonic::Code::Unimplemented => {
            format!("what answers on {} is not docsis-switch", args.address)
        }
        _ => status.message().to_owned(),
    };
    match &args.what {
        Ctl::Counters { device_id, all } => {
            let request = switch::GetCountersRequest {
                device_id: *device_id,
            };
            let answer = client.get_counters(request).await.map_err(said)?;
            let counted = answer.into_inner();
            Ok(if args.json {
                pretty(&counted_json(&counted))
            } else {
                counters_table(&counted, *all)
            })
        }
        Ctl::LogLevel { level } => {
            if let Some(level) = level {
                let request = switch::SetLogLevelRequest {
                    level: to_proto(*level).into(),
                };
                client.set_log_level(request).await.map_err(said)?;
            }
            let answer = client.get_log_level(switch::GetLogLevelRequest {});
            let level = answer.await.map_err(said)?.into_inner().level();
            let name = level.as_str_name().trim_start_matches("LOG_LEVEL_");
            let name = name.to_ascii_lowercase();
            Ok(if args.json {
                pretty(&json!({ "level": name }))
            } else {
                format!("{name}\n")
            })
        }
        Ctl::Trace(options) => {
            let followed = trace::follow(&mut client, options, args.json).await;
            followed.map(|()| String::new()).map_err(said)
        }
        Ctl::Lateness { device_id } => {
            let info = client.get_info(switch::GetInfoRequest {}).await;
            let devices = info.map_err(said)?.into_inner().devices;
            let mut client = TrafficManagerClient::new(channel);
            let (mut documents, mut text) = (Vec::new(), String::new());
            let asked = device_id.map_or_else(
                || devices.iter().map(|device| device.device_id).collect(),
                |device_id| vec![device_id],
            );
            for device_id in asked {
                let request = GetLatenessRequest { device_id };
                let answer = client.get_lateness(request).await.map_err(said)?;
                let answer = answer.into_inner();
                documents.push(lateness::json(device_id, &answer));
                text += &lateness::sentences(device_id, &answer);
            }
            Ok(if args.json {
                pretty(&json!({ "devices": documents }))
            } else {
                text
            })
        }
        Ctl::Info => {
            let answer = client.get_info(switch::GetInfoRequest {}).await;
            let info = answer.map_err(said)?.into_inner();
            Ok(if args.json {
                pretty(&info::json(&info))
            } else {
                info::table(&info)
            })
        }
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn counters_json(counters: &[switch::Counter]) -> Value {
    let entries = counters.iter().map(|counter| {
        let value = json!({"frames": counter.frames, "bytes": counter.bytes});
        (counter.name.clone(), value)
    });
    Value::Object(entries.collect())
}

fn counted_json(counted: &switch::GetCountersResponse) -> Value {
    let server = counted.server.iter();
    let server = server.map(|counter| (counter.name.clone(), json!(counter.count)));
    json!({
        "devices": counted.devices.iter().map(device_json).collect::<Vec<_>>(),
        "server": Value::Object(server.collect()),
    })
}

fn device_json(device: &switch::DeviceCounters) -> Value {
    let ports = device.ports.iter().map(|port| {
        json!({
            "port": port.port,
            "interface": port.interface,
            "up": port.up,
            "link_changes": port.link_changes,
            "counters": counters_json(&port.counters),
        })
    });
    let queues = device.queues.iter().map(|queue| {
        json!({
            "port": queue.port,
            "queue_id": queue.queue_id,
            "sub_queues": queue.sub_queues,
            "counters": counters_json(&queue.counters),
        })
    });
    json!({
        "device_id": device.device_id,
        "now_ns": device.now_ns,
        "counters": counters_json(&device.counters),
        "ports": ports.collect::<Vec<_>>(),
        "queues": queues.collect::<Vec<_>>(),
    })
}

/// Rows of name, frames, bytes and meaning, in columns; those of 0 only with `all`.
fn rows(counters: &[switch::Counter], all: bool) -> String {
    let mut text = String::new();
    for counter in counters.iter().filter(|c| all || c.frames > 0) {
        text += &format!(
            "    {:<20} {:>14} {:>18}  {}\n",
            counter.name, counter.frames, counter.bytes, counter.meaning
        );
    }
    text
}

fn counters_table(counted: &switch::GetCountersResponse, all: bool) -> String {
    let mut text = String::new();
    for counter in counted.server.iter().filter(|c| all || c.count > 0) {
        text += &format!("{}: {}  {}\n", counter.name, counter.count, counter.meaning);
    }
    let header = format!(
        "    {:<20} {:>14} {:>18}  meaning\n",
        "counter", "frames", "bytes"
    );
    for device in &counted.devices {
        text += &format!("device {}\n{header}", device.device_id);
        text += &rows(&device.counters, all);
        for port in &device.ports {
            let state = if port.up { "up" } else { "down" };
            let name = match port.interface.as_str() {
                "" => "no interface",
                name => name,
            };
            text += &format!(
                "  port {} ({name}, {state}, {} link changes)\n",
                port.port, port.link_changes
            );
            text += &rows(&port.counters, all);
        }
        for queue in &device.queues {
            let counted = rows(&queue.counters, all);
            if !counted.is_empty() {
                let (port, queue_id) = (queue.port, queue.queue_id);
                let sub_queues = match queue.sub_queues {
                    0 | 1 => String::new(),
                    n => format!(" ({n} sub-queues)"),
                };
                text += &format!("  port {port} queue {queue_id}{sub_queues}\n{counted}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_flow_s_sub_queues_are_shown() {
        let queue = |queue_id, sub_queues| switch::QueueCounters {
            port: 1,
            queue_id,
            sub_queues,
            counters: vec![switch::Counter {
                name: "queued".into(),
                frames: 1,
                ..Default::default()
            }],
        };
        let device = switch::DeviceCounters {
            queues: vec![queue(1, 0), queue(2, 1), queue(3, 32)],
            ..Default::default()
        };
        let json = device_json(&device);
        assert_eq!(json["queues"][2]["sub_queues"], 32);
        let counted = switch::GetCountersResponse {
            devices: vec![device],
            ..Default::default()
        };
        let text = counters_table(&counted, false);
        let queues: Vec<&str> = text
            .lines()
            .filter(|line| line.contains(" queue "))
            .collect();
        assert_eq!(
            queues,
            [
                "  port 1 queue 1",
                "  port 1 queue 2",
                "  port 1 queue 3 (32 sub-queues)"
            ]
        );
    }
}
