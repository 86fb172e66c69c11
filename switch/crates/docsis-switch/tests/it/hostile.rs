// SPDX-License-Identifier: Apache-2.0
//! What clients may make the switch keep is bounded, and others are answered meanwhile:
//! `docs/switch.md`, "What clients may use up".

use crate::common::Switch;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use grpc_services::proto::p4::v1::stream_message_request::Update;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

pub const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build");

/// As much as resident memory may grow by.
const MOST_GROWTH: u64 = 100 << 20;

pub type Client = P4RuntimeClient<Channel>;

pub async fn connect(address: &str) -> Client {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    // One that takes nothing has room for nothing.
    let endpoint = endpoint
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(65_535);
    P4RuntimeClient::new(endpoint.connect().await.unwrap())
}

pub fn all_registers(value: Option<u8>) -> p4::Entity {
    p4::Entity {
        entity: Some(Entity::RegisterEntry(p4::RegisterEntry {
            data: value.map(|value| p4::P4Data {
                data: Some(p4::p4_data::Data::Bitstring(vec![value])),
            }),
            ..Default::default()
        })),
    }
}

pub async fn read(client: &mut Client) -> Result<Streaming<p4::ReadResponse>, Status> {
    let request = p4::ReadRequest {
        entities: vec![all_registers(None)],
        ..Default::default()
    };
    Ok(client.read(request).await?.into_inner())
}

/// What keeps a stream open.
pub type Stream = (
    tokio::sync::mpsc::Sender<p4::StreamMessageRequest>,
    Streaming<p4::StreamMessageResponse>,
);

/// Opens a stream for a role; its first answer, and what keeps it open.
pub async fn arbitrate(
    client: &mut Client,
    role: &str,
) -> (Result<p4::StreamMessageResponse, Status>, Stream) {
    try_arbitrate(client, role).await.unwrap()
}

/// The same where the switch may have closed the connection.
pub async fn try_arbitrate(
    client: &mut Client,
    role: &str,
) -> Result<(Result<p4::StreamMessageResponse, Status>, Stream), Status> {
    let (requests, outbound) = tokio::sync::mpsc::channel(4);
    let update = p4::MasterArbitrationUpdate {
        role: (!role.is_empty()).then(|| p4::Role {
            name: role.into(),
            ..Default::default()
        }),
        election_id: election_id(1),
        ..Default::default()
    };
    let message = p4::StreamMessageRequest {
        update: Some(Update::Arbitration(update)),
    };
    requests.send(message).await.unwrap();
    let outbound = tonic::codegen::tokio_stream::wrappers::ReceiverStream::new(outbound);
    let mut inbound = client.stream_channel(outbound).await?.into_inner();
    let answer = inbound.message().await.and_then(|answer| {
        answer.ok_or_else(|| Status::unavailable("the switch has ended the stream"))
    });
    Ok((answer, (requests, inbound)))
}

/// Registers to write, of which P4Info gives the ids.
pub fn register_ids() -> Vec<u32> {
    let text = std::fs::read_to_string(format!("{BUILD}/cm.p4info.txtpb")).unwrap();
    let info = grpc_services::p4info_from_text(&text).unwrap();
    let heads = info.registers.iter().filter_map(|r| r.preamble.as_ref());
    heads.map(|preamble| preamble.id).collect()
}

/// A client's election id.
pub fn election_id(low: u64) -> Option<p4::Uint128> {
    Some(p4::Uint128 { high: 0, low })
}

/// A Write of so many small updates of whole arrays, for these registers in turn.
pub fn wildcards(role: &str, ids: &[u32], updates: usize, atomicity: i32) -> p4::WriteRequest {
    let updates = (0..updates).map(|n| {
        let mut entity = all_registers(Some(1));
        if let Some(Entity::RegisterEntry(entry)) = &mut entity.entity {
            entry.register_id = ids[n % ids.len()];
        }
        p4::Update {
            r#type: p4::update::Type::Modify as i32,
            entity: Some(entity),
        }
    });
    p4::WriteRequest {
        role: role.into(),
        election_id: election_id(1),
        updates: updates.collect(),
        atomicity,
        ..Default::default()
    }
}

#[test]
fn hostile_clients_take_a_bounded_memory() {
    let switch = Switch::start(&[
        &format!("{BUILD}/cm.json"),
        "--p4info",
        &format!("{BUILD}/cm.p4info.txtpb"),
    ]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut primary = connect(&switch.address).await;
        let (answer, _stream) = arbitrate(&mut primary, "").await;
        answer.unwrap();
        let mut whole = read(&mut primary).await.unwrap();
        while whole.message().await.unwrap().is_some() {}
        let before = resident(&switch);

        // Two clients that ask for all registers 33 times each and take nothing.
        let mut kept = Vec::new();
        let mut hogs = Vec::new();
        for _ in 0..2 {
            let mut hog = connect(&switch.address).await;
            for _ in 0..33 {
                kept.extend(read(&mut hog).await.ok());
            }
            hogs.push(hog);
        }
        // Roles without end, with endless names.
        let mut roles = Vec::new();
        for n in 0..100 {
            let name = format!("{n}{}", "r".repeat(2 << 20));
            let (answer, stream) = arbitrate(&mut hogs[0], &name).await;
            assert_eq!(answer.unwrap_err().code(), Code::ResourceExhausted);
            roles.push(stream);
        }
        // Small updates of whole arrays, to be undone.
        let ids = register_ids();
        let atomicity = p4::write_request::Atomicity::RollbackOnError as i32;
        let request = wildcards("", &ids, 4000, atomicity);
        let status = primary.write(request).await.unwrap_err();
        assert_eq!(status.code(), Code::Unknown, "{status:?}");
        // The hogs have taken what all clients share, so there is room for a share's worth of undoing.
        let own = status.message().contains("bytes of memory");
        let shared = status
            .message()
            .contains("what all clients may have in flight");
        assert!(own || shared, "{}", status.message());

        // What was only used on the way goes back to the kernel when the allocator looks again:
        // within ten seconds, unless told otherwise. What is kept stays.
        let mut grown = u64::MAX;
        for _ in 0..300 {
            grown = resident(&switch).saturating_sub(before);
            if grown < MOST_GROWTH {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert!(grown < MOST_GROWTH, "{grown} bytes are kept");
        assert!(!kept.is_empty());
        // Another client reads what it needs.
        let mut other = connect(&switch.address).await;
        let mut cells = read_cell(&mut other, ids[0]).await.unwrap();
        assert!(cells.message().await.unwrap().is_some());
    });
}

async fn read_cell(client: &mut Client, id: u32) -> Result<Streaming<p4::ReadResponse>, Status> {
    let mut entity = all_registers(None);
    if let Some(Entity::RegisterEntry(entry)) = &mut entity.entity {
        entry.register_id = id;
        entry.index = Some(p4::Index { index: 0 });
    }
    let request = p4::ReadRequest {
        entities: vec![entity],
        ..Default::default()
    };
    Ok(client.read(request).await?.into_inner())
}

/// Bytes of anonymous memory.
pub fn resident(switch: &Switch) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", switch.child.id())).unwrap();
    let mut lines = status.lines();
    let kib = lines.find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next());
    kib.unwrap().parse::<u64>().unwrap() * 1024
}
