// SPDX-License-Identifier: Apache-2.0
//! What requests hold while they wait, and what happens to those that wait while the primary or the
//! pipeline changes.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use device::DeviceConfig;
use device::events::{EventSender, Events};
use device::handle::{self, Requests};
use prost::Message;
use tokio::runtime::Runtime;
use tokio_stream::Stream;
use v1model::Program;

use super::*;
use crate::in_process::drive;
use crate::order::Wish;
use crate::outbound::{self, Outgoing};
use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use crate::proto::p4::v1::stream_message_response::Update;
use crate::wire::{Encoded, ReadRequest, WriteRequest};

const DEVICE: u64 = 1;
const CPU_PORT: u16 = 255;
const OLD: ClientId = ClientId(1);
const NEW: ClientId = ClientId(2);

/// A device that runs entities.p4, and its server's view of it.
struct World {
    target: Target,
    device: Device,
    requests: Requests,
    sender: EventSender,
    events: Events,
    runtime: Runtime,
}

fn file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../v1model/tests/programs");
    std::fs::read(format!("{folder}/{name}")).unwrap()
}

fn config() -> p4::ForwardingPipelineConfig {
    let info = String::from_utf8(file("entities.p4info.txtpb")).unwrap();
    p4::ForwardingPipelineConfig {
        p4info: Some(crate::p4info_from_text(&info).unwrap()),
        p4_device_config: file("entities.json").into(),
        cookie: None,
    }
}

fn pipeline() -> PipelineConfig {
    PipelineConfig::verify(config(), &Default::default()).unwrap()
}

fn id(low: u64) -> Option<p4::Uint128> {
    Some(p4::Uint128 { high: 0, low })
}

impl World {
    fn start() -> Self {
        let (handle, requests, sender, events) = handle::channel(DEVICE, Some(CPU_PORT), || {});
        let pipeline = pipeline();
        let mut device = Device::new(DeviceConfig {
            device_id: DEVICE,
            cpu_port: Some(CPU_PORT),
            ..DeviceConfig::default()
        });
        let program: Arc<Program> = Arc::clone(&pipeline.program);
        device.load(0, program);
        let shared = Shared::new(Limits::default());
        World {
            target: Target::new(handle, Some(pipeline), &shared),
            device,
            requests,
            sender,
            events,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap(),
        }
    }

    /// Does something with the server while the device does what it is asked for.
    fn drive<'w, T, F: Future<Output = T>>(&'w mut self, act: impl FnOnce(&'w Target) -> F) -> T {
        let (requests, device) = (&mut self.requests, &mut self.device);
        drive(&self.runtime, act(&self.target), || {
            requests.run_one(device, 0)
        })
    }

    /// A client becomes the primary. Returns what it is told.
    fn elect(&mut self, client: ClientId, election_id: u64) -> Outgoing {
        let (link, told) = outbound::channel(&self.target.limits, None);
        let update = p4::MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: id(election_id),
            ..Default::default()
        };
        let elected = self
            .drive(|target| async move { target.arbitrate(client, &link, None, &update).await });
        assert!(elected.is_ok());
        told
    }

    fn set_pipeline(
        &mut self,
        action: Action,
        config: Option<p4::ForwardingPipelineConfig>,
    ) -> Result<(), Status> {
        let request = p4::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: id(1),
            action: action as i32,
            config,
            ..Default::default()
        };
        self.drive(|target| target.set_pipeline(request))
    }

    /// The server passes on all that the device has sent.
    fn deliver(&mut self) {
        while let Ok((generation, event)) = self.events.try_recv() {
            let delivered = self.target.event(generation, event);
            self.runtime.block_on(delivered);
        }
    }
}

/// What a client is told next, if anything.
fn next(told: &mut Outgoing) -> Option<Update> {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(told).poll_next(&mut context) {
        Poll::Ready(message) => message?.unwrap().update,
        Poll::Pending => None,
    }
}

fn is_pending<T>(future: &mut Pin<&mut impl Future<Output = T>>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    future.as_mut().poll(&mut context).is_pending()
}

fn encoded(message: &impl Message) -> Encoded {
    Encoded(message.encode_to_vec().into())
}

/// All cells of all registers.
fn cells() -> p4::Entity {
    p4::Entity {
        entity: Some(p4::entity::Entity::RegisterEntry(Default::default())),
    }
}

/// An update that succeeds: cell 0 of the register `marks` becomes 7.
fn mark(info: &p4::ForwardingPipelineConfig) -> p4::Update {
    let registers = &info.p4info.as_ref().unwrap().registers;
    let preambles = registers.iter().filter_map(|one| one.preamble.as_ref());
    let marks = preambles.filter(|preamble| preamble.alias == "marks");
    let entry = p4::RegisterEntry {
        register_id: marks.map(|preamble| preamble.id).next().unwrap(),
        index: Some(p4::Index { index: 0 }),
        data: Some(p4::P4Data {
            data: Some(p4::p4_data::Data::Bitstring(vec![7])),
        }),
    };
    p4::Update {
        r#type: p4::update::Type::Modify as i32,
        entity: Some(p4::Entity {
            entity: Some(p4::entity::Entity::RegisterEntry(entry)),
        }),
    }
}

/// The Write of that update by the first primary.
fn write_of_a_mark() -> WriteRequest {
    let request = p4::WriteRequest {
        device_id: DEVICE,
        election_id: id(1),
        updates: vec![mark(&config())],
        ..Default::default()
    };
    WriteRequest::decode(encoded(&request)).unwrap()
}

#[test]
fn events_of_an_earlier_pipeline_are_dropped_and_counted() {
    let mut world = World::start();
    let mut told = world.elect(OLD, 1);
    assert!(matches!(next(&mut told), Some(Update::Arbitration(_))));
    assert!(world.sender.packet_in(&[1; 64]));
    world.deliver();
    assert!(matches!(next(&mut told), Some(Update::Packet(_))));

    // It waits for the server while another pipeline comes.
    assert!(world.sender.packet_in(&[2; 64]));
    world
        .set_pipeline(Action::VerifyAndCommit, Some(config()))
        .unwrap();
    world.deliver();
    assert_eq!(next(&mut told), None);
    assert_eq!(
        world.target.lost.load(std::sync::atomic::Ordering::Relaxed),
        1
    );

    // A new cookie for the same pipeline loses nothing.
    assert!(world.sender.packet_in(&[3; 64]));
    let with_cookie = p4::ForwardingPipelineConfig {
        cookie: Some(Default::default()),
        ..config()
    };
    world
        .set_pipeline(Action::ReconcileAndCommit, Some(with_cookie))
        .unwrap();
    world.deliver();
    assert!(matches!(next(&mut told), Some(Update::Packet(_))));
}

#[test]
fn a_new_primary_does_not_wait_for_writes_that_wait_for_their_turn() {
    let mut world = World::start();
    world.elect(OLD, 1);
    let request = write_of_a_mark();
    world.drive(|target| async move {
        let other = target.order.enter(Wish::ALONE).await;
        let mut write = pin!(target.write(&request, Asking::default()));
        assert!(is_pending(&mut write));
        let (link, mut told) = outbound::channel(&target.limits, None);
        let update = p4::MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: id(2),
            ..Default::default()
        };
        {
            let mut elected = pin!(target.arbitrate(NEW, &link, None, &update));
            assert!(!is_pending(&mut elected), "it waits for the write");
        }
        assert!(matches!(next(&mut told), Some(Update::Arbitration(_))));
        drop(other);
        let status = write.await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied);
    });
}

/// All but the new primary are told before the running requests end (P4Runtime 5.3, rule 3).
#[test]
fn the_old_primary_hears_of_the_new_one_while_its_requests_run() {
    let mut world = World::start();
    let mut old = world.elect(OLD, 1);
    let code = |told: &mut Outgoing| match next(told) {
        Some(Update::Arbitration(update)) => Some(Code::from(update.status.unwrap().code)),
        Some(other) => panic!("{other:?}"),
        None => None,
    };
    assert_eq!(code(&mut old), Some(Code::Ok));
    world.drive(|target| async move {
        let running = target.begin("", id(1).as_ref()).unwrap();
        let (link, mut new) = outbound::channel(&target.limits, None);
        let update = p4::MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: id(2),
            ..Default::default()
        };
        let mut elected = pin!(target.arbitrate(NEW, &link, None, &update));
        assert!(is_pending(&mut elected));
        assert_eq!(code(&mut old), Some(Code::AlreadyExists));
        assert_eq!(code(&mut new), None);
        drop(running);
        elected.await.unwrap();
        assert_eq!(code(&mut new), Some(Code::Ok));
        assert_eq!(code(&mut old), None, "it is told once");
    });
}

#[test]
fn a_write_that_waited_for_its_turn_is_executed() {
    let mut world = World::start();
    world.elect(OLD, 1);
    let request = write_of_a_mark();
    world.drive(|target| async move {
        let other = target.order.enter(Wish::ALONE).await;
        let mut write = pin!(target.write(&request, Asking::default()));
        assert!(is_pending(&mut write));
        drop(other);
        write.await.unwrap();
    });
    let pipeline = world.device.pipeline().unwrap();
    let register = pipeline.program().registers();
    let place = register.iter().position(|one| one.name.ends_with("marks"));
    let marks = v1model::RegisterId(place.unwrap() as u32);
    assert_eq!(pipeline.register(marks, 0), Ok(7));
}

#[test]
fn a_request_that_waits_for_its_turn_does_not_delay_a_change_of_the_pipeline() {
    let mut world = World::start();
    let request = p4::ReadRequest {
        device_id: DEVICE,
        entities: vec![cells()],
        ..Default::default()
    };
    let request = ReadRequest::decode(encoded(&request)).unwrap();
    world.drive(|target| async move {
        for is_replaced in [true, false] {
            let other = target.order.enter(Wish::ALONE).await;
            let mut read = pin!(target.read(&request, Asking::default()));
            assert!(is_pending(&mut read));
            {
                let mut pipelines = target.pipelines.try_write().unwrap();
                if is_replaced {
                    pipelines.active = Some(Arc::new(pipeline()));
                } else {
                    pipelines.active = None;
                }
            }
            drop(other);
            // It reads what there is when it is its turn.
            let read = read.await;
            assert_eq!(read.is_ok(), is_replaced);
        }
    });
}

/// Each answer was a copy of P4Info as objects, which takes some tens of times as much memory as its
/// bytes, and which the thread that answers made.
#[test]
fn a_pipeline_config_that_is_asked_for_is_not_copied() {
    use p4::get_forwarding_pipeline_config_request::ResponseType;
    let mut world = World::start();
    let config = config();
    let kept = world.drive(|target| async move {
        [
            target.pipeline(ResponseType::All).await.unwrap(),
            target.pipeline(ResponseType::All).await.unwrap(),
        ]
    });
    let places = kept.each_ref().map(|one| {
        let info = one.p4info.as_ref().unwrap();
        assert_eq!(P4Info::decode(info.clone()).ok(), config.p4info);
        (info.as_ptr(), one.p4_device_config.as_ptr())
    });
    assert_eq!(places[0], places[1]);
}

#[test]
fn a_commit_with_nothing_saved_is_refused_although_a_request_runs() {
    let mut world = World::start();
    world.elect(OLD, 1);
    let request = p4::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: id(1),
        action: Action::Commit as i32,
        ..Default::default()
    };
    world.drive(|target| async move {
        let _running = target.pipelines.read().await;
        let refused = target.set_pipeline(request);
        let patience = Duration::from_secs(10);
        let refused = tokio::time::timeout(patience, refused).await;
        let status = refused.expect("it waits for the request").unwrap_err();
        assert_eq!(status.code(), Code::NotFound);
    });
}
