// SPDX-License-Identifier: Apache-2.0
//! `bench control`: puts a controller's load on a running P4Runtime server, from
//! outside. It reads and writes at once all registers that the control loop
//! touches, for every service flow, and fills and empties a table.

use crate::cli::{BenchControl, Station};
use grpc_services::client::Client;
use grpc_services::proto::p4::config::v1::{P4Info, Preamble};
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::action::Param;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::proto::p4::v1::field_match::FieldMatchType;
use grpc_services::proto::p4::v1::update::Type;
use pipeline_bench::quantile;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// What the control loop writes, and what it reads: what left before what came, so that a frame
/// that passes in between is no negative backlog.
const WRITTEN: [&str; 4] = [
    "aqm_drop_prob",
    "aqm_qdelay_old",
    "aqm_burst_allowance",
    "aqm_control_state",
];
const READ: [&str; 5] = [
    "sf_dequeued_bytes",
    "sf_enqueued_bytes",
    "msr_tokens",
    "msr_updated",
    "aqm_data_state",
];
/// Table entries, and how many go into one request.
const ENTRIES: u32 = 4_000;
const BATCH: usize = 100;
/// Time between two rounds: the control loop's updates are 16 ms apart.
const PAUSE: Duration = Duration::from_millis(16);

fn register(info: &P4Info, name: &str) -> Result<(u32, i64), String> {
    info.registers
        .iter()
        .find_map(|register| {
            let preamble = register.preamble.as_ref()?;
            (preamble.name == name).then_some((preamble.id, i64::from(register.size)))
        })
        .ok_or_else(|| format!("the P4Info has no register {name}; give a program of p4src/"))
}

/// Ids and sizes of registers.
fn ids(info: &P4Info, names: &[&str]) -> Result<Vec<(u32, i64)>, String> {
    names.iter().map(|name| register(info, name)).collect()
}

fn update(kind: Type, entity: Entity) -> p4::Update {
    p4::Update {
        r#type: kind as i32,
        entity: Some(p4::Entity {
            entity: Some(entity),
        }),
    }
}

/// An entry with an exact key, of a table and an action by the ends of their
/// names.
fn exact(
    info: &P4Info,
    [table, action]: [&str; 2],
    key: &[&[u8]],
    params: &[u8],
) -> Result<Entity, String> {
    let ends = |preamble: &Option<Preamble>, end: &str| {
        let preamble = preamble.as_ref()?;
        let own = preamble.name.rsplit('.').next() == Some(end);
        own.then_some(preamble.id)
    };
    let missing = || format!("the P4Info has no table {table} with an action {action}");
    let table_id = info.tables.iter().find_map(|t| ends(&t.preamble, table));
    let action_id = info.actions.iter().find_map(|a| ends(&a.preamble, action));
    let (table_id, action_id) = table_id.zip(action_id).ok_or_else(missing)?;
    let matches = key.iter().zip(1..).map(|(value, field_id)| p4::FieldMatch {
        field_id,
        field_match_type: Some(FieldMatchType::Exact(p4::field_match::Exact {
            value: value.to_vec(),
        })),
    });
    let params = params.iter().zip(1..).map(|(value, param_id)| Param {
        param_id,
        value: vec![*value],
    });
    let action = p4::Action {
        action_id,
        params: params.collect(),
    };
    Ok(Entity::TableEntry(Box::new(p4::TableEntry {
        table_id,
        r#match: matches.collect(),
        action: Some(p4::TableAction {
            r#type: Some(p4::table_action::Type::Action(action)),
        }),
        ..Default::default()
    })))
}

/// For frames of modem 0.
fn station(info: &P4Info, address: &[u8], port: u8) -> Result<Entity, String> {
    let key = [&[0], address];
    exact(info, ["station", "forward"], &key, &[port, 0, 0])
}

/// Entries of the table of stations, made up.
fn stations(info: &P4Info) -> Result<Vec<Entity>, String> {
    (1..=ENTRIES)
        .map(|n| {
            let address = [&[0x06, 0x10], n.to_be_bytes().as_slice()].concat();
            station(info, &address, 1)
        })
        .collect()
}

/// Lets frames pass: what is measured beside is their delay.
async fn bridge(client: &mut Client, info: &P4Info, stations: &[Station]) -> Result<(), String> {
    let mut updates = Vec::new();
    for Station { address, port } in stations {
        let names = ["interface", "provision"];
        let interface = exact(info, names, &[&[*port]], &[0, 0, 0])?;
        updates.push(update(Type::Insert, interface));
        let station = station(info, address, *port)?;
        updates.push(update(Type::Insert, station));
    }
    client.write(updates).await
}

/// Quantiles in milliseconds.
fn times(what: &str, mut ms: Vec<f64>, json: bool) -> Value {
    let (p50, p99) = (quantile(&mut ms, 0.5), quantile(&mut ms, 0.99));
    let most = quantile(&mut ms, 1.0);
    if !json {
        println!("{what:45} p50 {p50:6.2}  p99 {p99:6.2}  most {most:6.2} ms");
    }
    json!({"p50_ms": p50, "p99_ms": p99, "most_ms": most})
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

async fn measure(options: &BenchControl) -> Result<(), String> {
    let file = |extension: &str| {
        let path = format!("{}{extension}", options.program.display());
        std::fs::read(Path::new(&path)).map_err(|error| format!("{path} cannot be read: {error}"))
    };
    let text = String::from_utf8(file(".p4info.txtpb")?)
        .map_err(|_| "the P4Info is not text".to_owned())?;
    let info = grpc_services::p4info_from_text(&text)?;
    let mut client = Client::connect(&options.address, options.device_id).await?;
    if !options.no_push {
        client.push(info.clone(), file(".json")?).await?;
    }

    if !options.bridge.is_empty() {
        bridge(&mut client, &info, &options.bridge).await?;
    }

    let written = ids(&info, &WRITTEN)?;
    let read = ids(&info, &READ)?;
    let cells = written[0].1;
    // In use by no service flow: what is written changes nothing for packets.
    let values: Vec<_> = written
        .iter()
        .flat_map(|&(id, size)| (0..size).map(move |index| (id, index, 1)))
        .collect();
    let read: Vec<u32> = read.iter().map(|&(id, _)| id).collect();
    let (mut write_ms, mut read_ms) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        let start = Instant::now();
        client.write_cells(values.iter().copied()).await?;
        let wrote = ms(start);
        let start = Instant::now();
        let mut found = Vec::with_capacity(read.len() * cells as usize);
        let cell = |_, _, value| found.push(value);
        client.read_cells(&read, cell).await?;
        let took = ms(start);
        if found.len() != read.len() * cells as usize {
            return Err(format!(
                "{} cells came back of {}",
                found.len(),
                read.len() * cells as usize
            ));
        }
        // The first one warms up.
        if round > 0 {
            write_ms.push(wrote);
            read_ms.push(took);
        }
        tokio::time::sleep(PAUSE).await;
    }

    let entities = stations(&info)?;
    let (mut insert_rates, mut single) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let start = Instant::now();
        for batch in entities.chunks(BATCH) {
            let updates = batch
                .iter()
                .cloned()
                .map(|e| update(Type::Insert, e))
                .collect();
            client.write(updates).await?;
        }
        insert_rates.push(f64::from(ENTRIES) / start.elapsed().as_secs_f64());
        for batch in entities.chunks(BATCH) {
            let updates = batch
                .iter()
                .cloned()
                .map(|e| update(Type::Delete, e))
                .collect();
            client.write(updates).await?;
        }
    }
    let start = Instant::now();
    for entity in &entities[..BATCH] {
        let start = Instant::now();
        client
            .write(vec![update(Type::Insert, entity.clone())])
            .await?;
        single.push(ms(start));
    }
    let single_rate = BATCH as f64 / start.elapsed().as_secs_f64();
    let updates = entities[..BATCH].iter().cloned();
    client
        .write(updates.map(|e| update(Type::Delete, e)).collect())
        .await?;

    let rate = quantile(&mut insert_rates, 0.5);
    let write = times(
        &format!("write {} registers of {cells}", WRITTEN.len()),
        write_ms,
        options.json,
    );
    let read = times(
        &format!("read {} registers of {cells}", READ.len()),
        read_ms,
        options.json,
    );
    let one = times("insert one entry", single, options.json);
    if options.json {
        let report = json!({
            "benchmark": "control",
            "service_flows": cells,
            "rounds": options.rounds,
            "write": write,
            "read": read,
            "insert_one": one,
            "inserts_per_second_one_by_one": single_rate,
            "inserts_per_second": rate,
            "inserts_per_request": BATCH,
        });
        println!("{report:#}");
    } else {
        println!(
            "{rate:.0} entries inserted a second, {BATCH} a request; {single_rate:.0} one by one"
        );
    }
    Ok(())
}

/// Measures and prints.
///
/// # Errors
/// One sentence: nobody listens, or what the server refused.
pub fn run(options: &BenchControl) -> Result<(), String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?
        .block_on(measure(options))
}
