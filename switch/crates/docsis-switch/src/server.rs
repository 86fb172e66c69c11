// SPDX-License-Identifier: Apache-2.0
//! The gRPC server in threads of its own.

use crate::{last_words, logging, privileges, scheduling};
use grpc_services::{ServedDevice, Server, ServerAddress, ServerOptions};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::error;

/// Nice value of the threads that do what takes long: the one that answers goes before them.
const CREW_NICE: i32 = 5;
/// Threads for what cannot be interrupted, beside those of the crew: to load a program, and to drop one.
const CREW_BLOCKING: usize = 2;

/// A server that runs.
pub struct GrpcServer {
    runtime: Runtime,
    crew: Runtime,
    address: ServerAddress,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl GrpcServer {
    /// Listens and serves.
    ///
    /// # Errors
    /// One sentence: the address is in use or not this machine's.
    pub fn start(
        address: ServerAddress,
        devices: Vec<ServedDevice>,
        options: &ServerOptions,
    ) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(CREW_BLOCKING)
            .thread_name("grpc")
            .on_thread_start(privileges::none)
            .enable_all()
            .build()
            .map_err(|error| format!("no thread for the gRPC server: {error}"))?;
        let crew = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(CREW_BLOCKING)
            .thread_name("grpc-long")
            .on_thread_start(|| {
                privileges::none();
                // Where that is refused, they are as the others.
                let _ = scheduling::nice(CREW_NICE);
            })
            .enable_all()
            .build()
            .map_err(|error| format!("no threads for the gRPC server's long work: {error}"))?;
        let options = ServerOptions {
            crew: Some(crew.handle().clone()),
            ..options.clone()
        };
        let server = runtime
            .block_on(Server::bind_with(address, devices, &options))
            .map_err(|error| error.to_string())?;
        let address = server.local_address().clone();
        let (shutdown, ended) = oneshot::channel();
        let task = runtime.spawn(async move {
            let ended = async {
                let _ = ended.await;
            };
            if let Err(error) = server.serve(ended).await {
                // Nobody could control the switch any more, nor see that.
                error!("{error}");
                last_words::say(move || {
                    logging::finish();
                    eprintln!("docsis-switch: {error}; the switch has ended");
                });
                std::process::exit(1);
            }
        });
        Ok(Self {
            runtime,
            crew,
            address,
            shutdown,
            task,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Ends all streams and the threads, within about a second.
    pub fn stop(self) {
        let _ = self.shutdown.send(());
        let _ = self.runtime.block_on(self.task);
        self.runtime.shutdown_background();
        self.crew.shutdown_background();
    }
}
