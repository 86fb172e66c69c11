// SPDX-License-Identifier: Apache-2.0
//! `-i [DEVICE:]PORT@INTERFACE`.

/// An interface to attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortArg {
    /// The device; `None` is the one of `--device-id`.
    pub device: Option<u64>,
    /// The port's number, at most 511.
    pub port: u16,
    /// The interface's name.
    pub interface: String,
}

/// Highest port number: v1model's have 9 bits.
const LAST: u16 = 511;

/// # Errors
/// What is wrong with `text`.
pub fn parse(text: &str) -> Result<PortArg, String> {
    let bad = || format!("`{text}` is not PORT@INTERFACE or DEVICE:PORT@INTERFACE, as in 1@veth0");
    let (place, interface) = text.split_once('@').ok_or_else(bad)?;
    let (device, port) = match place.split_once(':') {
        Some((device, port)) => (Some(device.parse().map_err(|_| bad())?), port),
        None => (None, place),
    };
    let port: u16 = port.parse().map_err(|_| bad())?;
    if port > LAST {
        return Err(format!(
            "port {port} is more than {LAST}, the last of v1model"
        ));
    }
    if interface.is_empty() {
        return Err(bad());
    }
    Ok(PortArg {
        device,
        port,
        interface: interface.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_may_be_left_out() {
        let port = |device, port, interface: &str| PortArg {
            device,
            port,
            interface: interface.into(),
        };
        assert_eq!(parse("1@a"), Ok(port(None, 1, "a")));
        assert_eq!(parse("0@a:b@c"), Ok(port(None, 0, "a:b@c")));
        assert_eq!(parse("7:511@a"), Ok(port(Some(7), 511, "a")));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "", "1", "@a", "1@", "512@a", "-1@a", ":1@a", "x:1@a", "1:@a", "1:2:3@a",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
