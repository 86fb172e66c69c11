// SPDX-License-Identifier: Apache-2.0
//! The connections of the server: a bounded number at a time.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::Stream;
use tonic::Extensions;
use tonic::transport::server::{Connected, TlsConnectInfo};

use crate::budget::{Account, Budget};

/// The connections that a listener accepts. Those past the limit are closed
/// at once, so that their clients know.
#[derive(Debug)]
pub struct Connections {
    listener: TcpListener,
    places: Arc<Semaphore>,
    budget: Arc<Budget>,
}

impl Connections {
    pub fn new(listener: TcpListener, limit: usize, budget: Arc<Budget>) -> Self {
        let places = Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)));
        Connections {
            listener,
            places,
            budget,
        }
    }
}

impl Stream for Connections {
    type Item = io::Result<Connection>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match self.listener.poll_accept(context) {
                Poll::Pending => return Poll::Pending,
                // The client has gone again, or file descriptors are short:
                // neither ends the server.
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Ok((stream, _))) => {
                    let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                        continue;
                    };
                    // Small answers must not wait for more of them.
                    let _ = stream.set_nodelay(true);
                    return Poll::Ready(Some(Ok(Connection {
                        stream,
                        client: Client(Account::new(&self.budget)),
                        _place: place,
                    })));
                }
            }
        }
    }
}

/// A connection, which gives its place back when it is closed.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    client: Client,
    _place: OwnedSemaphorePermit,
}

/// Who is at the other end, for the requests that come from there.
#[derive(Clone, Debug)]
pub struct Client(Arc<Account>);

impl Client {
    /// What the client of a request is charged for; `None` for one of this process.
    pub fn account(request: &Extensions) -> Option<&Arc<Account>> {
        let plain = request.get::<Client>();
        let client = plain.or_else(|| Some(request.get::<TlsConnectInfo<Client>>()?.get_ref()));
        client.map(|client| &client.0)
    }
}

impl Connected for Connection {
    type ConnectInfo = Client;

    fn connect_info(&self) -> Client {
        self.client.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// Where a bound listener listens.
pub async fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
