// SPDX-License-Identifier: Apache-2.0
//! The connections of the server: a bounded number at a time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::Stream;
use tonic::Extensions;
use tonic::codegen::http;
use tonic::transport::server::Connected;

use crate::address::ServerAddress;
use crate::budget::{Account, Budget, Purpose};
use crate::opening::Opening;
use crate::options::Limits;
use crate::outbox::Outbox;
use crate::tls::OverTls;
use crate::turns::Turns;
use crate::unix_socket::UnixSocket;

/// The connections that a listener accepts. A connection past the limit is closed at once, so that
/// its client learns of it.
#[derive(Debug)]
pub struct Connections {
    listener: Listener,
    places: Arc<Semaphore>,
    /// How long a client may take to begin.
    opening: Duration,
    budget: Arc<Budget>,
}

impl Connections {
    pub fn new(listener: Listener, limits: &Limits, budget: Arc<Budget>) -> Self {
        let places = limits.connections.min(Semaphore::MAX_PERMITS);
        Connections {
            listener,
            places: Arc::new(Semaphore::new(places)),
            opening: limits.opening,
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
                Poll::Ready(Ok(stream)) => {
                    let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                        continue;
                    };
                    return Poll::Ready(Some(Ok(Connection {
                        stream,
                        opening: Opening::new(self.opening),
                        client: Client::new(&self.budget),
                        read: 0,
                        _place: place,
                    })));
                }
            }
        }
    }
}

/// A connection, which gives its place back when it is closed. A client that does not begin HTTP/2 in
/// time is no longer read from, which closes it.
pub struct Connection {
    stream: Box<dyn ByteStream>,
    opening: Opening,
    client: Client,
    /// How many bytes have been read since the connection last yielded.
    read: usize,
    _place: OwnedSemaphorePermit,
}

/// How many bytes are read from a connection before it yields to the others. HTTP/2 decodes
/// everything that has arrived in one go, which takes long if the frames are small.
const TURN: usize = 32 << 10;

/// The client at the other end of a connection. Each request that it sends carries this along.
#[derive(Clone, Debug)]
pub struct Client {
    /// The memory that the client makes the server keep.
    pub account: Arc<Account>,
    /// The answers that have not been sent yet.
    pub outbox: Arc<Outbox>,
    /// The turns of the connection.
    pub turns: Turns,
}

impl Client {
    pub fn new(budget: &Arc<Budget>) -> Self {
        let account = Account::new(budget);
        Self {
            outbox: Outbox::new(account.charge(Purpose::Answers)),
            account,
            turns: Turns::default(),
        }
    }

    /// The client that sent a request; `None` for a request from this process.
    pub fn of_rpc(request: &Extensions) -> Option<&Self> {
        Self::of(request.get(), request.get())
    }

    /// As [`Self::of_rpc`], for a request that gRPC has not looked at yet.
    pub fn of_request(request: &http::Extensions) -> Option<&Self> {
        Self::of(request.get(), request.get())
    }

    fn of<'r>(plain: Option<&'r Client>, tls: Option<&'r OverTls<Client>>) -> Option<&'r Client> {
        plain.or_else(|| Some(tls?.get_ref()))
    }
}

impl Connected for Connection {
    type ConnectInfo = Client;

    /// Called once, when TLS is agreed on and before HTTP/2 begins.
    fn connect_info(&self) -> Client {
        self.opening.begin();
        self.client.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read >= TURN {
            self.read = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_pending() {
            // A read that finds nothing more yields anyway.
            self.read = 0;
            if self.opening.is_late(context) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        } else {
            let more = buffer.filled().len() - before;
            self.read += more;
            self.opening.heard(more);
        }
        read
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

/// A socket that accepts connections.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixSocket),
}

impl Listener {
    /// Listens, and returns the address with the port that was chosen for port 0.
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

#[cfg(test)]
mod tests {
    use super::*;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    /// After which a test fails. No machine is so slow.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A connection whose client may take so long to begin, and the client's end.
    fn connection(patience: Duration) -> (Connection, DuplexStream) {
        let (ours, theirs) = duplex(1 << 10);
        let places = Arc::new(Semaphore::new(1));
        let connection = Connection {
            stream: Box::new(ours),
            opening: Opening::new(patience),
            client: Client::new(&Arc::new(Budget::new(&Limits::default()))),
            read: 0,
            _place: places.try_acquire_owned().unwrap(),
        };
        (connection, theirs)
    }

    /// Whether the next read waits for the client, as long as a deadline that has passed takes to
    /// be noticed, and longer.
    async fn waits(connection: &mut Connection) -> bool {
        let read = connection.read_u8();
        tokio::time::timeout(Duration::from_millis(50), read)
            .await
            .is_err()
    }

    #[tokio::test]
    async fn a_client_that_does_not_begin_is_cut_off() {
        for sent in [0, 1, 23] {
            let (mut connection, mut client) = connection(Duration::ZERO);
            connection.connect_info();
            client.write_all(&vec![0; sent]).await.unwrap();
            let mut bytes = Vec::new();
            let read = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut bytes));
            let error = read.await.expect("it is read for ever").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert_eq!(bytes.len(), sent);
        }
    }

    #[tokio::test]
    async fn a_client_that_has_begun_may_be_silent() {
        let (mut connection, mut client) = connection(Duration::ZERO);
        connection.connect_info();
        client.write_all(&[0; 24]).await.unwrap();
        connection.read_exact(&mut [0; 24]).await.unwrap();
        assert!(waits(&mut connection).await);
    }

    #[tokio::test]
    async fn a_client_may_begin_slowly() {
        let (mut connection, mut client) = connection(Duration::from_secs(3600));
        connection.connect_info();
        for _ in 0..3 {
            client.write_all(&[0; 7]).await.unwrap();
            connection.read_exact(&mut [0; 7]).await.unwrap();
            assert!(waits(&mut connection).await);
        }
    }

    /// TLS has its own deadline, and its bytes are no HTTP/2.
    #[tokio::test]
    async fn the_deadline_begins_with_http() {
        let (mut connection, mut client) = connection(Duration::ZERO);
        client.write_all(&[0; 100]).await.unwrap();
        connection.read_exact(&mut [0; 100]).await.unwrap();
        assert!(waits(&mut connection).await);
        connection.connect_info();
        let read = tokio::time::timeout(PATIENCE, connection.read_u8()).await;
        assert!(read.expect("it is read for ever").is_err());
    }
}
