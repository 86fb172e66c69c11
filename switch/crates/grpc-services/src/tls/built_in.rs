// SPDX-License-Identifier: Apache-2.0
//! TLS by rustls.

use std::time::Duration;

use tonic::transport::server::TlsConnectInfo;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use super::{TlsError, TlsOptions};

/// How long the handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What a request carries that came over TLS, with the client `C`.
pub type OverTls<C> = TlsConnectInfo<C>;

/// `server` with TLS by these options, or what is wrong with them.
///
/// # Errors
/// [`TlsError::Files`].
pub fn secured(server: Server, options: &TlsOptions) -> Result<Server, TlsError> {
    let config = ServerTlsConfig::new()
        .identity(Identity::from_pem(&options.cert, &options.key))
        .timeout(HANDSHAKE);
    let config = match &options.client_ca {
        Some(ca) => config.client_ca_root(Certificate::from_pem(ca)),
        None => config,
    };
    server
        .tls_config(config)
        .map_err(|error| TlsError::Files(with_cause(&error)))
}

/// The words of an error and of its causes, because tonic's own are only "transport error".
fn with_cause(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
