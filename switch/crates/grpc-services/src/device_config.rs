// SPDX-License-Identifier: Apache-2.0
//! `p4_device_config`: the compiler's JSON as it is, or inside a
//! `p4.tmp.P4DeviceConfig` as older tools send it.

use prost::Message;
use prost::bytes::Bytes;

/// The fields of `p4.tmp.P4DeviceConfig` that matter; its .proto file is not
/// distributed any more.
#[derive(Clone, PartialEq, Message)]
struct P4DeviceConfig {
    #[prost(bool, tag = "1")]
    reassign: bool,
    #[prost(bytes = "bytes", tag = "3")]
    device_data: Bytes,
}

/// The JSON within a device config.
///
/// # Errors
/// It is neither of the two.
pub fn json(device_config: &Bytes) -> Result<Bytes, String> {
    if is_object(device_config) {
        return Ok(device_config.clone());
    }
    match P4DeviceConfig::decode(device_config.clone()) {
        Ok(wrapper) if is_object(&wrapper.device_data) => Ok(wrapper.device_data),
        _ => Err(
            "p4_device_config is neither the compiler's JSON nor a p4.tmp.P4DeviceConfig with \
             such JSON in device_data: send the .json file that p4c wrote"
                .into(),
        ),
    }
}

fn is_object(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_json_and_its_wrapper() {
        let raw = Bytes::from_static(b" \n{\"program\": 1}");
        assert_eq!(json(&raw).unwrap(), raw);
        let wrapped = P4DeviceConfig {
            reassign: true,
            device_data: raw.clone(),
        };
        assert_eq!(json(&wrapped.encode_to_vec().into()).unwrap(), raw);
    }

    #[test]
    fn refuses_anything_else() {
        for bytes in [&b""[..], b"[]", b"\x0a\xff", b"\x1a\x02[]"] {
            let error = json(&Bytes::from_static(bytes)).unwrap_err();
            assert!(error.contains("p4_device_config"), "{error}");
        }
    }
}
