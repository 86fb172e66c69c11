// SPDX-License-Identifier: Apache-2.0
//! No TLS: it is refused.

use tonic::transport::Server;

use super::TlsOptions;
use crate::connections::Client;
use crate::server::ServerError;

/// What a request carries that came over TLS. None does.
#[derive(Clone, Debug)]
pub enum OverTls {}

impl OverTls {
    /// The client; there is none.
    pub fn get_ref(&self) -> &Client {
        match *self {}
    }
}

/// Refuses TLS.
///
/// # Errors
/// [`ServerError::BuiltWithoutTls`], always.
pub fn secured(_: Server, _: &TlsOptions) -> Result<Server, ServerError> {
    Err(ServerError::BuiltWithoutTls)
}
