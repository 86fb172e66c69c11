// SPDX-License-Identifier: Apache-2.0
//! No TLS: it is refused.

use std::convert::Infallible;
use std::marker::PhantomData;

use tonic::transport::Server;

use super::{TlsError, TlsOptions};

/// What a request carries that came over TLS, with the client `C`. None does.
pub struct OverTls<C> {
    never: Infallible,
    client: PhantomData<C>,
}

impl<C> OverTls<C> {
    /// The client; there is none.
    pub fn get_ref(&self) -> &C {
        match self.never {}
    }
}

/// Refuses TLS.
///
/// # Errors
/// [`TlsError::LeftOut`], always.
pub fn secured(_: Server, _: &TlsOptions) -> Result<Server, TlsError> {
    Err(TlsError::LeftOut)
}
