// SPDX-License-Identifier: Apache-2.0
//! Where a server listens: a TCP address, or the path of a Unix socket.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// A TCP address: whoever reaches it may connect.
    Tcp(SocketAddr),
    /// A Unix socket, for this user's processes only.
    Unix(PathBuf),
}

/// What the text of a Unix socket's address begins with, as gRPC names them.
const UNIX: &str = "unix:";

impl ServerAddress {
    /// The TCP address, if it is one.
    #[must_use]
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            ServerAddress::Tcp(address) => Some(*address),
            ServerAddress::Unix(_) => None,
        }
    }

    /// Whether it is any free port: another one for each server.
    #[must_use]
    pub fn is_any_port(&self) -> bool {
        self.tcp().is_some_and(|address| address.port() == 0)
    }

    /// Whether other machines may reach it.
    #[must_use]
    pub fn is_beyond_this_machine(&self) -> bool {
        self.tcp()
            .is_some_and(|address| !address.ip().to_canonical().is_loopback())
    }

    /// What a gRPC client connects to.
    #[must_use]
    pub fn uri(&self, tls: bool) -> String {
        match (self, tls) {
            (ServerAddress::Unix(_), _) => self.to_string(),
            (ServerAddress::Tcp(address), true) => format!("https://{address}"),
            (ServerAddress::Tcp(address), false) => format!("http://{address}"),
        }
    }
}

impl From<SocketAddr> for ServerAddress {
    fn from(address: SocketAddr) -> Self {
        ServerAddress::Tcp(address)
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Tcp(address) => address.fmt(f),
            ServerAddress::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl FromStr for ServerAddress {
    type Err = String;

    /// `unix:PATH`, `unix:///PATH`, or `ADDRESS:PORT`, where a name stands for its first address,
    /// one of IPv4 before others.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix(UNIX) {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            let is_absolute = path.starts_with('/');
            if path.is_empty() || path.ends_with('/') || (rest != path && !is_absolute) {
                return Err(format!(
                    "`{text}` is not unix:PATH, as in unix:/run/user/1000/p4/switch.sock"
                ));
            }
            return Ok(ServerAddress::Unix(path.into()));
        }
        let found = text.to_socket_addrs().map_err(|error| {
            format!(
                "`{text}` is neither ADDRESS:PORT, as in 127.0.0.1:9559, nor unix:PATH ({error})"
            )
        })?;
        let all: Vec<_> = found.collect();
        all.iter()
            .find(|address| address.is_ipv4())
            .or(all.first())
            .map(|address| ServerAddress::Tcp(*address))
            .ok_or_else(|| format!("`{text}` has no address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<ServerAddress, String> {
        text.parse()
    }

    #[test]
    fn addresses_may_be_names() {
        let found = address("localhost:9559").unwrap();
        assert_eq!(found.to_string(), "127.0.0.1:9559");
        assert_eq!(address("[::]:1").unwrap().to_string(), "[::]:1");
        assert!(address("nonsense").is_err());
    }

    #[test]
    fn unix_sockets_are_named_as_grpc_names_them() {
        for text in ["unix:/run/p4/cm1.sock", "unix:///run/p4/cm1.sock"] {
            let found = address(text).unwrap();
            assert_eq!(found, ServerAddress::Unix("/run/p4/cm1.sock".into()));
            assert_eq!(found.uri(true), "unix:/run/p4/cm1.sock");
            assert!(!found.is_any_port() && !found.is_beyond_this_machine());
        }
        for text in ["unix:", "unix://", "unix://host/x", "unix:/run/"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_other_machines_reach_is_known() {
        for (text, beyond) in [
            ("127.0.0.1:1", false),
            ("127.8.0.1:1", false),
            ("[::1]:1", false),
            ("[::ffff:127.0.0.1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
            ("192.0.2.7:1", true),
        ] {
            let found = address(text).unwrap();
            assert_eq!(found.is_beyond_this_machine(), beyond, "{text}");
        }
    }
}
