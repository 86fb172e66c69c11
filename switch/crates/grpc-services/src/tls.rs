// SPDX-License-Identifier: Apache-2.0
//! TLS for clients. The feature `tls` builds it in; without that it is refused. `make demo` leaves it out, as
//! its switch listens on loopback and rustls and ring are a tenth of what there is to compile.

use std::fmt;
use std::path::Path;

#[cfg(feature = "tls")]
mod built_in;
#[cfg(not(feature = "tls"))]
mod left_out;

#[cfg(feature = "tls")]
pub use built_in::{OverTls, secured};
#[cfg(not(feature = "tls"))]
pub use left_out::{OverTls, secured};

/// Why there is no TLS. Displayed as one sentence.
#[derive(Debug)]
pub enum TlsError {
    /// The certificates or the key cannot be used.
    Files(String),
    /// It was not built in.
    LeftOut,
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::Files(error) => write!(
                f,
                "cannot serve gRPC with TLS, check the PEM files of --grpc-tls-cert, \
                 --grpc-tls-key and --grpc-tls-client-ca: {error}"
            ),
            TlsError::LeftOut => f.write_str(
                "this switch was built without TLS, which the demo does not need; `make switch` \
                 builds one that has it",
            ),
        }
    }
}

/// The server's certificate, and the authority that clients' certificates are checked with, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificate chain, the server's own first.
    pub cert: Vec<u8>,
    /// The private key of the first certificate.
    pub key: Vec<u8>,
    /// The authorities, one of which must have signed a client's certificate; `None` if clients
    /// need no certificate.
    pub client_ca: Option<Vec<u8>>,
}

impl fmt::Debug for TlsOptions {
    /// Leaves out the private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions")
            .field("client_ca", &self.client_ca.is_some())
            .finish_non_exhaustive()
    }
}

impl TlsOptions {
    /// Reads the PEM files.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn from_files(cert: &Path, key: &Path, client_ca: Option<&Path>) -> Result<Self, String> {
        let read = |what: &str, path: &Path| {
            std::fs::read(path)
                .map_err(|error| format!("cannot read the {what} {}: {error}", path.display()))
        };
        Ok(TlsOptions {
            cert: read("server's certificate", cert)?,
            key: read("server's private key", key)?,
            client_ca: client_ca
                .map(|path| read("client certificate authority", path))
                .transpose()?,
        })
    }
}
