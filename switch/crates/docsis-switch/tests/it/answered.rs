// SPDX-License-Identifier: Apache-2.0
//! The control loop is answered in time while hostile clients of all kinds are at work at once.

use crate::common::{PROGRAM, Switch};
use crate::hostile::{
    BUILD, Client, Stream, all_registers, arbitrate, connect, election_id, read, register_ids,
    resident, try_arbitrate, wildcards,
};
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::proto::p4::v1::stream_message_request::Update;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// As late as an answer may be beyond the machine's own lateness, which is how late sleeping threads
/// wake.
const LATE: Duration = Duration::from_millis(20);
/// Where sleeping threads wake later than that at p99, the machine has other work to do. Then the time
/// does not count in which the threads that an answer needs were kept from a processor.
const BUSY: Duration = Duration::from_millis(1);
/// As much as resident memory may grow by, while they are at work and afterwards.
const MOST_GROWTH: u64 = 100_000_000;
/// Rounds of the control loop, and their distance.
const ROUNDS: usize = 300;
/// On a machine that leaves this test little time, so many rounds do after a minute.
const FEWEST_ROUNDS: usize = 100;
const LONG_ENOUGH: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(16);

/// How late this machine wakes threads that sleep, one on every processor.
struct Sleepers {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<Vec<Duration>>>,
}

impl Sleepers {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let count = std::thread::available_parallelism().unwrap().get();
        let sleeper = |processor: usize| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                pin_to(processor);
                let mut late = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let due = Instant::now() + Duration::from_millis(2);
                    std::thread::sleep(Duration::from_millis(2));
                    late.push(due.elapsed());
                }
                late
            })
        };
        let threads = (0..count).map(sleeper).collect();
        Self { stop, threads }
    }

    fn end(self) -> Vec<Duration> {
        self.stop.store(true, Ordering::Relaxed);
        let threads = self.threads.into_iter();
        threads.flat_map(|thread| thread.join().unwrap()).collect()
    }
}

/// How long this thread and those of the switch that answer, `grpc` and the device's, have been
/// ready to run without a processor. What they do themselves is not part of it.
struct Waits(Vec<PathBuf>);

/// How long a request took.
#[derive(Clone, Copy)]
struct Took {
    all: Duration,
    /// Without the time in which its threads were ready to run and had no processor.
    running: Duration,
}

impl Waits {
    fn of(switch: &Switch) -> Self {
        let tasks = format!("/proc/{}/task", switch.child.id());
        let tasks = std::fs::read_dir(tasks).unwrap();
        let tasks = tasks.map(|task| task.unwrap().path());
        let answers = |task: &PathBuf| {
            let name = std::fs::read_to_string(task.join("comm")).unwrap();
            name.trim() == "grpc" || name.starts_with("device-")
        };
        let mut tasks: Vec<_> = tasks.filter(answers).collect();
        assert_eq!(tasks.len(), 2, "{tasks:?}");
        tasks.push("/proc/thread-self".into());
        Self(tasks)
    }

    fn read(&self) -> Duration {
        // A kernel without these figures says nothing, and then nothing is allowed for.
        let wait = |task: &PathBuf| {
            let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
            text.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        Duration::from_nanos(self.0.iter().filter_map(wait).sum())
    }

    /// How long a request takes, with and without what its threads waited for a processor.
    async fn time<T>(&self, request: impl Future<Output = T>) -> Took {
        let (before, began) = (self.read(), Instant::now());
        request.await;
        let all = began.elapsed();
        let running = all.saturating_sub(self.read() - before);
        Took { all, running }
    }
}

/// The program as `make switch` builds it: how long an answer takes without optimisation says
/// nothing about the one that runs.
fn optimised() -> PathBuf {
    let profiles = Path::new(PROGRAM).ancestors().nth(2).unwrap();
    let program = profiles.join("release/docsis-switch");
    let shown = program.display();
    assert!(program.exists(), "{shown} is missing: run make switch");
    program
}

fn pin_to(processor: usize) {
    // SAFETY: plain data, for which zeros are valid; a cpu_set_t and its size. Where the processor
    // is not ours, the thread stays where it is.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

fn p99(mut found: Vec<Duration>) -> Duration {
    found.sort_unstable();
    found[found.len() * 99 / 100]
}

/// What the kinds of hostile clients do, over and over.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Asks for all registers and takes nothing.
    Hog,
    /// Whole arrays, to be undone.
    Undo,
    /// Roles without end, with long names.
    Roles,
    /// The longest requests.
    Long,
    /// Requests of very many parts.
    Many,
    /// Empty packet-outs.
    Packets,
    /// Programs to be looked at.
    Programs,
    /// One-shots of very many members.
    Members,
}

const KINDS: [Kind; 8] = [
    Kind::Hog,
    Kind::Undo,
    Kind::Roles,
    Kind::Long,
    Kind::Many,
    Kind::Packets,
    Kind::Programs,
    Kind::Members,
];

struct Hostile {
    address: String,
    ids: Vec<u32>,
    stop: AtomicBool,
    /// What each kind has done.
    done: [AtomicU64; KINDS.len()],
}

impl Hostile {
    async fn run(self: Arc<Self>, kind: Kind, number: usize) {
        let mut client = connect(&self.address)
            .await
            .max_encoding_message_size(64 << 20);
        let role = format!("{kind:?}{number}");
        let mut stream = None;
        let mut kept = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            // The switch closes a connection of which too much was refused; who is hostile comes back.
            let Some((requests, _)) = &stream else {
                stream = accepted(&mut client, &role).await;
                continue;
            };
            match kind {
                Kind::Hog => {
                    kept.extend(read(&mut client).await.ok());
                    if kept.len() > 40 {
                        kept.clear();
                    }
                }
                Kind::Undo => {
                    let atomicity = p4::write_request::Atomicity::RollbackOnError as i32;
                    let request = wildcards(&role, &self.ids, 4000, atomicity);
                    let _ = client.write(request).await;
                }
                Kind::Roles => {
                    let name = "r".repeat(2 << 20);
                    drop(try_arbitrate(&mut client, &name).await);
                }
                Kind::Long => {
                    let request = p4::WriteRequest {
                        role: "r".repeat(60 << 20),
                        ..Default::default()
                    };
                    let _ = client.write(request).await;
                }
                Kind::Many => {
                    let request = wildcards("none", &self.ids, 1 << 17, 0);
                    let _ = client.write(request).await;
                    let request = p4::ReadRequest {
                        entities: vec![all_registers(None); 1 << 16],
                        ..Default::default()
                    };
                    let _ = client.read(request).await;
                }
                Kind::Packets => {
                    let message = p4::StreamMessageRequest {
                        update: Some(Update::Packet(p4::PacketOut::default())),
                    };
                    if requests.send(message).await.is_err() {
                        stream = None;
                    }
                }
                Kind::Members => {
                    let request = one_shots(&role);
                    let _ = client.write(request).await;
                }
                Kind::Programs => {
                    let _ = client.set_forwarding_pipeline_config(verify(&role)).await;
                }
            }
            self.done[kind as usize].fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    }
}

/// A stream that the switch has accepted; none where it has not.
async fn accepted(client: &mut Client, role: &str) -> Option<Stream> {
    let (answer, stream) = try_arbitrate(client, role).await.ok()?;
    answer.ok().map(|_| stream)
}

/// Updates that are as long as they may be, each with more members than are permitted.
fn one_shots(role: &str) -> p4::WriteRequest {
    let set = p4::ActionProfileActionSet {
        action_profile_actions: vec![p4::ActionProfileAction::default(); 120_000],
        ..Default::default()
    };
    let action = p4::table_action::Type::ActionProfileActionSet(set);
    let entry = p4::TableEntry {
        action: Some(p4::TableAction {
            r#type: Some(action),
        }),
        ..Default::default()
    };
    let update = p4::Update {
        r#type: p4::update::Type::Insert as i32,
        entity: Some(p4::Entity {
            entity: Some(Entity::TableEntry(Box::new(entry))),
        }),
    };
    p4::WriteRequest {
        role: role.into(),
        election_id: election_id(1),
        updates: vec![update; 20],
        ..Default::default()
    }
}

fn verify(role: &str) -> p4::SetForwardingPipelineConfigRequest {
    let text = std::fs::read_to_string(format!("{BUILD}/cm.p4info.txtpb")).unwrap();
    p4::SetForwardingPipelineConfigRequest {
        role: role.into(),
        election_id: election_id(1),
        action: p4::set_forwarding_pipeline_config_request::Action::Verify as i32,
        config: Some(p4::ForwardingPipelineConfig {
            p4info: Some(grpc_services::p4info_from_text(&text).unwrap()),
            p4_device_config: std::fs::read(format!("{BUILD}/cm.json")).unwrap().into(),
            cookie: None,
        }),
        ..Default::default()
    }
}

/// One round of the control loop: what it reads and writes of 32 service flows, and Capabilities.
/// How long each took.
async fn round(client: &mut Client, ids: &[u32], waits: &Waits) -> [Took; 3] {
    let cells = |value: Option<u8>| {
        let ids = ids.iter().copied();
        ids.flat_map(move |id| {
            (0..32).map(move |index| {
                let mut entity = all_registers(value);
                if let Some(Entity::RegisterEntry(entry)) = &mut entity.entity {
                    entry.register_id = id;
                    entry.index = Some(p4::Index { index });
                }
                entity
            })
        })
    };
    let request = p4::ReadRequest {
        entities: cells(None).collect(),
        ..Default::default()
    };
    let has_read = waits.time(async {
        let mut answers = client.read(request).await.unwrap().into_inner();
        while answers.message().await.unwrap().is_some() {}
    });
    let has_read = has_read.await;
    let request = p4::WriteRequest {
        election_id: election_id(1),
        updates: cells(Some(0))
            .map(|entity| p4::Update {
                r#type: p4::update::Type::Modify as i32,
                entity: Some(entity),
            })
            .collect(),
        ..Default::default()
    };
    let has_written = waits.time(async { client.write(request).await.unwrap() });
    let has_written = has_written.await;
    let request = p4::CapabilitiesRequest::default();
    let has_told = waits.time(async { client.capabilities(request).await.unwrap() });
    [has_read, has_written, has_told.await]
}

#[test]
fn the_control_loop_is_answered_beside_hostile_clients() {
    let switch = Switch::start_as(
        &optimised(),
        &[
            &format!("{BUILD}/cm.json"),
            "--p4info",
            &format!("{BUILD}/cm.p4info.txtpb"),
        ],
        &["--cpu-port", "510"],
    );
    let ids = register_ids();
    let own = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut client = own.block_on(connect(&switch.address));
    let (answer, _stream) = own.block_on(arbitrate(&mut client, ""));
    answer.unwrap();
    let waits = Waits::of(&switch);
    own.block_on(round(&mut client, &ids[..4], &waits));
    let before = resident(&switch);

    let hostile = Arc::new(Hostile {
        address: switch.address.clone(),
        ids: ids.clone(),
        stop: AtomicBool::new(false),
        done: Default::default(),
    });
    // What they do is not to cost this machine's processors, but the switch's time.
    let others = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(|| {
            // SAFETY: no pointers; concerns this thread only.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
        })
        .enable_all()
        .build()
        .unwrap();
    let at_work: Vec<_> = KINDS
        .into_iter()
        .flat_map(|kind| [(kind, 0), (kind, 1)])
        .map(|(kind, number)| others.spawn(Arc::clone(&hostile).run(kind, number)))
        .collect();
    while hostile
        .done
        .iter()
        .any(|done| done.load(Ordering::Relaxed) == 0)
    {
        assert!(
            at_work.iter().all(|task| !task.is_finished()),
            "one has failed"
        );
        own.block_on(round(&mut client, &ids[..4], &waits));
    }
    let sleepers = Sleepers::start();
    let (mut took, mut most) = (Vec::new(), 0);
    let first = Instant::now();
    while took.len() < ROUNDS && (took.len() < FEWEST_ROUNDS || first.elapsed() < LONG_ENOUGH) {
        let began = Instant::now();
        took.push(own.block_on(round(&mut client, &ids[..4], &waits)));
        most = most.max(resident(&switch).saturating_sub(before));
        std::thread::sleep(TICK.saturating_sub(began.elapsed()));
    }
    let machine = p99(sleepers.end());
    let waited = waits.read();
    hostile.stop.store(true, Ordering::Relaxed);
    others.shutdown_timeout(Duration::from_secs(20));
    let names = ["reads", "writes", "Capabilities"];
    let counts = |took: Took| match machine > BUSY {
        true => took.running,
        false => took.all,
    };
    let found: Vec<Duration> = (0..3)
        .map(|at| p99(took.iter().map(|one| counts(one[at])).collect()))
        .collect();
    eprintln!(
        "p99 of {names:?}: {found:?}, of the machine's lateness {machine:?}; waited for processors \
         {waited:?} in all; {} MiB more at most; done: {:?}",
        most >> 20,
        hostile.done
    );
    for (name, found) in names.into_iter().zip(found) {
        assert!(found <= LATE + machine, "{name}: {found:?}, {machine:?}");
    }
    assert!(most < MOST_GROWTH, "{most} bytes");
    let mut grown = u64::MAX;
    for _ in 0..300 {
        grown = resident(&switch).saturating_sub(before);
        if grown < MOST_GROWTH {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(grown < MOST_GROWTH, "{grown} bytes are kept");
}
