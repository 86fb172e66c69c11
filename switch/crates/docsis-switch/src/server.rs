// SPDX-License-Identifier: Apache-2.0
//! The gRPC server in threads of its own.

use crate::privileges;
use p4runtime::{ServedDevice, Server, ServerAddress, ServerOptions};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::error;

/// A server that runs.
pub struct GrpcServer {
    runtime: Runtime,
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
            .thread_name("grpc")
            .on_thread_start(privileges::none)
            .enable_all()
            .build()
            .map_err(|error| format!("no thread for the gRPC server: {error}"))?;
        let server = runtime
            .block_on(Server::bind_with(address, devices, options))
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
                eprintln!("docsis-switch: {error}; the switch has ended");
                std::process::exit(1);
            }
        });
        Ok(Self {
            runtime,
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
    }
}
