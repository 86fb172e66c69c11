// SPDX-License-Identifier: Apache-2.0
//! Compiles the .proto files with a protoc written in Rust, so that no protoc
//! binary is needed. The P4Runtime files come with the Python package finsy.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use prost::Message;
use tonic_build::manual::{Builder, Method, MethodBuilder, Service};

const PROTO_DIR_VARIABLE: &str = "P4RUNTIME_PROTO_DIR";
const P4RUNTIME_PROTO: &str = "p4/v1/p4runtime.proto";
const TRAFFIC_MANAGER_PROTO: &str = "docsis/tm/v1/traffic_manager.proto";
const UPSTREAM_CHANNELS_PROTO: &str = "docsis/mac/v1/upstream_channels.proto";
const SWITCH_PROTO: &str = "docsis/switch/v1/switch.proto";
const CHANNEL_STATE_PROTO: &str = "docsis/mac/v1/channel_state.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={PROTO_DIR_VARIABLE}");
    let manifest_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let own_dir = manifest_dir.join("../../proto");
    println!("cargo:rerun-if-changed={}", own_dir.display());
    let p4runtime_dir = match p4runtime_proto_dir(&manifest_dir) {
        Ok(directory) => directory,
        Err(message) => {
            // One clear sentence instead of a backtrace.
            eprintln!("error: {message}");
            std::process::exit(1);
        }
    };
    println!("cargo:rerun-if-changed={}", p4runtime_dir.display());

    let descriptors = protox::compile(
        [
            P4RUNTIME_PROTO,
            TRAFFIC_MANAGER_PROTO,
            UPSTREAM_CHANNELS_PROTO,
            CHANNEL_STATE_PROTO,
            SWITCH_PROTO,
        ],
        [p4runtime_dir, own_dir],
    )?;
    // The text format of P4Info is read through the descriptors.
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out_dir.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        // Equal P4Infos have equal bytes.
        .btree_map(".p4.config.v1")
        // Large payloads are slices of the message that they came in.
        .bytes(".p4.v1.ForwardingPipelineConfig.p4_device_config")
        .bytes(".p4.v1.PacketOut.payload")
        .bytes(".p4.v1.PacketIn.payload")
        // The largest kinds of entities, so that a batch of registers is small.
        .boxed(".p4.v1.Entity.entity.table_entry")
        .boxed(".p4.v1.Entity.entity.direct_counter_entry")
        .boxed(".p4.v1.Entity.entity.direct_meter_entry")
        .boxed(".p4.v1.Entity.entity.meter_entry")
        .compile_fds(descriptors)?;
    Builder::new().compile(&[p4runtime_service()]);
    Ok(())
}

/// P4Runtime with messages of Write, Read and pipeline configs that stay encoded: see src/wire.
fn p4runtime_service() -> Service {
    const ENCODED: &str = "crate::wire::Encoded";
    const OWN: &str = "crate::wire::EncodedCodec";
    const PROST: &str = "tonic_prost::ProstCodec";
    let method = |name: &str, route: &str, [input, output]: [&str; 2], codec: &str| {
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type(input)
            .output_type(output)
            .codec_path(codec)
    };
    let message = |name: &str| format!("crate::proto::p4::v1::{name}");
    let unary = |name: &str, route: &str| {
        let (request, response) = (format!("{route}Request"), format!("{route}Response"));
        let types = [message(&request), message(&response)];
        method(name, route, [&types[0], &types[1]], PROST)
    };
    let stream = [
        message("StreamMessageRequest"),
        message("StreamMessageResponse"),
    ];
    let streaming = |method: MethodBuilder| method.client_streaming().server_streaming();
    Service::builder()
        .name("P4Runtime")
        .package("p4.v1")
        .method(method("write", "Write", [ENCODED; 2], OWN).build())
        .method(
            method("read", "Read", [ENCODED; 2], OWN)
                .server_streaming()
                .build(),
        )
        .method(
            method(
                "set_forwarding_pipeline_config",
                "SetForwardingPipelineConfig",
                [ENCODED; 2],
                OWN,
            )
            .build(),
        )
        .method(
            method(
                "get_forwarding_pipeline_config",
                "GetForwardingPipelineConfig",
                [ENCODED; 2],
                OWN,
            )
            .build(),
        )
        .method(
            streaming(method(
                "stream_channel",
                "StreamChannel",
                [&stream[0], &stream[1]],
                PROST,
            ))
            .build(),
        )
        .method(unary("capabilities", "Capabilities").build())
        .build()
}

/// The directory to include that holds p4/v1/p4runtime.proto.
fn p4runtime_proto_dir(manifest_dir: &Path) -> Result<PathBuf, String> {
    if let Some(directory) = env::var_os(PROTO_DIR_VARIABLE) {
        let directory = PathBuf::from(directory);
        if directory.join(P4RUNTIME_PROTO).is_file() {
            return Ok(directory);
        }
        return Err(format!(
            "{PROTO_DIR_VARIABLE} is {}, and there is no {P4RUNTIME_PROTO} in it",
            directory.display()
        ));
    }
    let lib = manifest_dir.join("../../../.venv/lib");
    find_in_venv(&lib).map_err(|error| {
        format!(
            "cannot find the P4Runtime .proto files of the Python package finsy below {} ({error}): \
             run 'make setup', or set {PROTO_DIR_VARIABLE} to the directory that contains \
             {P4RUNTIME_PROTO}",
            lib.display()
        )
    })
}

fn find_in_venv(lib: &Path) -> io::Result<PathBuf> {
    for entry in fs::read_dir(lib)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("python3") {
            let directory = entry.path().join("site-packages/finsy/proto");
            if directory.join(P4RUNTIME_PROTO).is_file() {
                return Ok(directory);
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "not installed"))
}
