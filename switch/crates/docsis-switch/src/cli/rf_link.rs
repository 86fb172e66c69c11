// SPDX-License-Identifier: Apache-2.0
//! `--rf-link DEVICE:PORT,DEVICE:PORT`.

/// Two ports that an RF link joins, each with its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RfLinkArg(pub [(u64, u16); 2]);

/// Highest port number: v1model's have 9 bits.
const LAST: u16 = 511;

/// # Errors
/// What is wrong with `text`.
pub fn parse(text: &str) -> Result<RfLinkArg, String> {
    let bad = || format!("`{text}` is not DEVICE:PORT,DEVICE:PORT, as in 1:1,2:1");
    let end = |text: &str| -> Option<(u64, u16)> {
        let (device, port) = text.split_once(':')?;
        Some((device.parse().ok()?, port.parse().ok()?))
    };
    let (one, other) = text.split_once(',').ok_or_else(bad)?;
    let ends = [end(one).ok_or_else(bad)?, end(other).ok_or_else(bad)?];
    if let Some((_, port)) = ends.iter().find(|(_, port)| *port > LAST) {
        return Err(format!(
            "port {port} is more than {LAST}, the last of v1model"
        ));
    }
    if ends[0].0 == ends[1].0 {
        return Err(format!(
            "`{text}` joins two ports of device {}; an RF link joins those of two devices",
            ends[0].0
        ));
    }
    Ok(RfLinkArg(ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_two_ports() {
        assert_eq!(parse("1:1,2:511"), Ok(RfLinkArg([(1, 1), (2, 511)])));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "1:1",
            "1:1,",
            "1,2",
            "1:1,2:512",
            "1:1,1:2",
            "1:1,2:1,3:1",
            "-1:1,2:1",
            "1:1 2:1",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
