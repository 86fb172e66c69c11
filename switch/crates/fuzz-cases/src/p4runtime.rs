// SPDX-License-Identifier: Apache-2.0
//! The fuzz target of P4Runtime requests against a server in this process.

use crate::bytes::Bytes;
use crate::programs::text;
use device::{Device, DeviceConfig, Output, handle};
use grpc_services::in_process::InProcess;
use grpc_services::proto::p4::config::v1::P4Info;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::{Limits, PipelineConfig, ServedDevice, p4info_from_text};
use prost::Message;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio::runtime::{Builder, Runtime};
use v1model::Program;

/// The kinds of messages in an input; the first byte of a message chooses one.
pub const KINDS: [&str; 5] = ["write", "read", "stream", "set_pipeline", "get_pipeline"];

struct Sink;

impl Output for Sink {
    fn transmit(&mut self, _: u64, _: u16, _: &[u8], _: bool) {}

    fn packet_in(&mut self, _: u64, _: &[u8]) -> bool {
        true
    }
}

/// The program cm.p4, which has most kinds of objects, with its P4Info.
fn cm() -> (Arc<Program>, PipelineConfig) {
    static CM: OnceLock<(Arc<Program>, P4Info)> = OnceLock::new();
    let (program, info) = CM.get_or_init(|| {
        let path = "../../../p4src/build/cm.p4info.txtpb";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let info = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("cm.p4info: {e}"));
        let info = p4info_from_text(&info).unwrap_or_else(|e| panic!("cm.p4info: {e}"));
        (crate::programs::program(0), info)
    });
    let config = PipelineConfig::new(info.clone(), text(0).to_vec(), Arc::clone(program));
    let config = config.unwrap_or_else(|e| panic!("cm.p4info: {e}"));
    (Arc::clone(program), config)
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_all().build();
    runtime.unwrap_or_else(|e| panic!("no runtime: {e}"))
}

/// Makes the client primary with this election id.
fn arbitration() -> Vec<u8> {
    let update = p4::MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(p4::Uint128 { high: 0, low: 1 }),
        ..Default::default()
    };
    let update = p4::stream_message_request::Update::Arbitration(update);
    let message = p4::StreamMessageRequest {
        update: Some(update),
    };
    message.encode_to_vec()
}

/// Sends messages to device 1, which runs cm.p4. Its primary, with the election id 1, sends them.
/// Each message is a byte that chooses from [`KINDS`], its length in two bytes, and so many bytes.
pub fn p4runtime(data: &[u8]) {
    let (program, config) = cm();
    let (handle, mut requests, _sender, events) = handle::channel(1, Some(255), || {});
    let thread = std::thread::spawn(move || {
        let mut device = Device::new(DeviceConfig {
            device_id: 1,
            cpu_port: Some(255),
            ..DeviceConfig::default()
        });
        device.add_port(1);
        device.load(0, program);
        let mut now = 0;
        while requests.run_blocking(&mut device, || now) {
            now += 1_000_000;
            device.poll(now, &mut Sink);
        }
    });
    let served = ServedDevice {
        handle,
        events,
        pipeline: Some(config),
    };
    let server = InProcess::new(served, Limits::default());
    let Ok(mut stream) = server.open_stream() else {
        panic!("the first stream is refused");
    };
    runtime().block_on(async {
        let _ = stream.send(arbitration().into()).await;
        let mut bytes = Bytes(data);
        while !bytes.is_empty() {
            let kind = bytes.below(KINDS.len());
            let length = usize::from(bytes.number());
            let message = bytes.take(length).to_vec().into();
            let method = match kind {
                0 => "Write",
                1 => "Read",
                2 => {
                    // Any status is a valid answer, here and below.
                    let _ = stream.send(message).await;
                    stream.receive();
                    continue;
                }
                3 => "SetForwardingPipelineConfig",
                _ => "GetForwardingPipelineConfig",
            };
            let method = format!("/p4.v1.P4Runtime/{method}");
            let _ = server.call(&method, message).await;
        }
    });
    drop((stream, server));
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
