// SPDX-License-Identifier: Apache-2.0
//! The connections of the server: a bounded number at a time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::Stream;
use tonic::Extensions;
use tonic::codegen::http;
use tonic::transport::server::{Connected, TlsConnectInfo};

use crate::address::ServerAddress;
use crate::budget::{Account, Budget};
use crate::unix_socket::UnixSocket;

/// The connections that a listener accepts. Those past the limit are closed
/// at once, so that their clients know.
#[derive(Debug)]
pub struct Connections {
    listener: Listener,
    places: Arc<Semaphore>,
    budgets: Budgets,
}

/// What connections are charged from.
#[derive(Clone, Debug)]
pub struct Budgets {
    pub answers: Arc<Budget>,
    pub requests: Arc<Budget>,
}

impl Connections {
    pub fn new(listener: Listener, limit: usize, budgets: Budgets) -> Self {
        let places = Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)));
        Connections {
            listener,
            places,
            budgets,
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
                Poll::Ready(Ok(stream)) => {
                    let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                        continue;
                    };
                    return Poll::Ready(Some(Ok(Connection {
                        stream,
                        client: Client {
                            answers: Account::new(&self.budgets.answers),
                            requests: Account::new(&self.budgets.requests),
                        },
                        _place: place,
                    })));
                }
            }
        }
    }
}

/// A connection, which gives its place back when it is closed.
pub struct Connection {
    stream: Box<dyn ByteStream>,
    client: Client,
    _place: OwnedSemaphorePermit,
}

/// Who is at the other end, for the requests that come from there.
#[derive(Clone, Debug)]
pub struct Client {
    answers: Arc<Account>,
    requests: Arc<Account>,
}

impl Client {
    /// What a request's answers are charged to; `None` for one of this process.
    pub fn account(request: &Extensions) -> Option<&Arc<Account>> {
        let client = Self::of(request.get(), request.get());
        client.map(|client| &client.answers)
    }

    /// What a request itself is charged to.
    pub fn requests(request: &http::Extensions) -> Option<&Arc<Account>> {
        let client = Self::of(request.get(), request.get());
        client.map(|client| &client.requests)
    }

    fn of<'r>(
        plain: Option<&'r Client>,
        tls: Option<&'r TlsConnectInfo<Client>>,
    ) -> Option<&'r Client> {
        plain.or_else(|| Some(tls?.get_ref()))
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

/// What is accepted from.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixSocket),
}

impl Listener {
    /// Listens, and tells where: with the port that port 0 became.
    pub async fn bind(address: &ServerAddress) -> io::Result<(Self, ServerAddress)> {
        Ok(match address {
            ServerAddress::Tcp(tcp) => {
                let listener = TcpListener::bind(tcp).await?;
                let address = listener.local_addr()?.into();
                (Listener::Tcp(listener), address)
            }
            ServerAddress::Unix(path) => {
                let socket = UnixSocket::bind(path).await?;
                (Listener::Unix(socket), address.clone())
            }
        })
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Box<dyn ByteStream>>> {
        match self {
            Listener::Tcp(listener) => listener.poll_accept(context).map_ok(|(stream, _)| {
                // Small answers must not wait for more of them.
                let _ = stream.set_nodelay(true);
                Box::new(stream) as Box<dyn ByteStream>
            }),
            Listener::Unix(socket) => socket
                .poll_accept(context)
                .map_ok(|stream| Box::new(stream) as Box<dyn ByteStream>),
        }
    }
}

/// The bytes of a connection, whatever carries them.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}
