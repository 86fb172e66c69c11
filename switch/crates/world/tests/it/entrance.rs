// SPDX-License-Identifier: Apache-2.0
//! Devices are reached as over gRPC, at the world's time.

use crate::common::{BETWEEN, SECOND, Shape, call, primary, world};
use bytes::Bytes;
use grpc_services::proto::docsis::tm::v1 as tm;
use grpc_services::proto::p4::v1 as p4;
use prost::Message;
use tonic::Code;
use world::{World, WorldError};

fn code(result: Result<Vec<Bytes>, WorldError>) -> Code {
    match result {
        Err(WorldError::Rpc(status)) => status.code(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_traffic_manager_tells_the_world_s_time() {
    let mut world = world(&Shape::default());
    world.run_until(3 * SECOND + 5).unwrap();
    let request = tm::GetRequest { device_id: 1 };
    let method = "/docsis.tm.v1.TrafficManager/Get";
    let state: tm::GetResponse = call(&mut world, "near", method, &request);
    assert_eq!(state.now_ns, 3 * SECOND + 5);
    let mut ports = state.ports.iter().filter_map(|port| port.config.as_ref());
    let port = ports.find(|port| port.port == u32::from(BETWEEN)).unwrap();
    assert_eq!(port.rate, Shape::default().rate);
    let method = "/docsis.tm.v1.TrafficManager/GetLateness";
    let request = tm::GetLatenessRequest { device_id: 1 };
    let late: tm::GetLatenessResponse = call(&mut world, "near", method, &request);
    assert_eq!((late.buckets.len(), late.jumps), (0, 0));
}

#[test]
fn statuses_come_as_over_grpc() {
    let mut world = world(&Shape::default());
    let read = "/p4.v1.P4Runtime/Read";
    let other = p4::ReadRequest {
        device_id: 9,
        ..Default::default()
    };
    let other = Bytes::from(other.encode_to_vec());
    assert_eq!(code(world.call("near", read, other)), Code::NotFound);
    let none = Bytes::from_static(&[0xff, 0xff]);
    assert_eq!(code(world.call("near", read, none)), Code::Internal);
    for method in [
        "/p4.v1.P4Runtime/StreamChannel",
        "/p4.v1.P4Runtime/Nothing",
        "",
    ] {
        let found = code(world.call("near", method, Bytes::new()));
        assert_eq!(found, Code::Unimplemented, "{method}");
    }
}

#[test]
fn who_is_not_the_primary_may_not_write_and_a_stream_s_end_ends_it() {
    let mut world = World::new(1).unwrap();
    let options = world::DeviceOptions {
        name: "one",
        device_id: 5,
        ports: vec![1],
        ..Default::default()
    };
    world.add_device(&options).unwrap();
    let write = |world: &mut World| {
        let request = p4::WriteRequest {
            device_id: 5,
            election_id: Some(p4::Uint128 { high: 0, low: 1 }),
            ..Default::default()
        };
        let request = Bytes::from(request.encode_to_vec());
        code(world.call("one", "/p4.v1.P4Runtime/Write", request))
    };
    assert_eq!(write(&mut world), Code::PermissionDenied);
    let stream = primary(&mut world, "one", 5);
    // It may, but there is no pipeline.
    assert_eq!(write(&mut world), Code::FailedPrecondition);
    world.close_stream(stream);
    assert_eq!(write(&mut world), Code::PermissionDenied);
    let closed = world.stream_receive(stream).unwrap_err().to_string();
    assert_eq!(closed, "the stream is closed; open another one");
}

#[test]
fn the_server_has_capabilities_and_the_pipeline_that_was_set() {
    let mut world = world(&Shape::default());
    let method = "/p4.v1.P4Runtime/Capabilities";
    let request = p4::CapabilitiesRequest { device_id: 1 };
    let capabilities: p4::CapabilitiesResponse = call(&mut world, "near", method, &request);
    assert_eq!(capabilities.p4runtime_api_version, "1.5.0");
    let method = "/p4.v1.P4Runtime/GetForwardingPipelineConfig";
    let request = p4::GetForwardingPipelineConfigRequest {
        device_id: 1,
        ..Default::default()
    };
    let set: p4::GetForwardingPipelineConfigResponse = call(&mut world, "near", method, &request);
    assert!(set.config.unwrap().p4info.is_some());
}
