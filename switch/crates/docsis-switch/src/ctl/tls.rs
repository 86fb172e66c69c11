// SPDX-License-Identifier: Apache-2.0
//! TLS towards a switch, where the feature `tls` is on.

use crate::cli::CtlArgs;
use std::path::Path;
use tonic::transport::Endpoint;

/// `endpoint` over TLS: the switch's certificate is checked with `ca`, and ours is in the options.
///
/// # Errors
/// One sentence about a file that cannot be read or used.
#[cfg(feature = "tls")]
pub fn secured(endpoint: Endpoint, ca: &Path, args: &CtlArgs) -> Result<Endpoint, String> {
    use tonic::transport::{Certificate, ClientTlsConfig, Identity};

    let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(ca)?));
    if let Some(name) = &args.tls_name {
        tls = tls.domain_name(name);
    }
    if let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) {
        tls = tls.identity(Identity::from_pem(read(cert)?, read(key)?));
    }
    endpoint
        .tls_config(tls)
        .map_err(|error| format!("TLS: {error}"))
}

/// Refuses: this switch was built without TLS.
#[cfg(not(feature = "tls"))]
pub fn secured(_: Endpoint, _: &Path, _: &CtlArgs) -> Result<Endpoint, String> {
    Err(grpc_services::TlsError::LeftOut.to_string())
}

#[cfg(feature = "tls")]
fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}
