// SPDX-License-Identifier: Apache-2.0
//! `--device-grpc-addr DEVICE@ADDRESS:PORT`, or `DEVICE@unix:PATH`.

use grpc_services::ServerAddress;

/// A device with an address of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceAddressArg {
    /// The device.
    pub device: u64,
    /// Where it is served.
    pub address: ServerAddress,
}

/// # Errors
/// What is wrong with `text`.
pub fn parse(text: &str) -> Result<DeviceAddressArg, String> {
    let bad = || format!("`{text}` is not DEVICE@ADDRESS:PORT, as in 2@127.0.0.1:50052");
    let (device, address) = text.split_once('@').ok_or_else(bad)?;
    Ok(DeviceAddressArg {
        device: device.parse().map_err(|_| bad())?,
        address: address.parse()?,
    })
}
