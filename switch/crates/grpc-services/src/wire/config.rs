// SPDX-License-Identifier: Apache-2.0
//! Estimates how much memory a `SetForwardingPipelineConfigRequest` will take, before it is
//! decoded.

use super::fields;

/// The numbers of the fields `SetForwardingPipelineConfigRequest.config` and
/// `ForwardingPipelineConfig.p4info`.
const CONFIG: u64 = 5;
const P4INFO: u64 = 1;
/// How many bytes of memory are charged for each byte of P4Info. An empty object has two bytes on
/// the wire, and 100 or more in memory.
const P4INFO_FACTOR: usize = 64;

/// The memory that a request will take besides its own bytes, bytes: P4Info as objects, and a
/// program, which takes about as much as its JSON.
pub fn config_memory(request: &[u8]) -> usize {
    let configs = parts(request, CONFIG);
    let infos = configs.flat_map(|config| parts(config, P4INFO));
    request.len() + P4INFO_FACTOR * infos.map(<[u8]>::len).sum::<usize>()
}

/// The messages in a field. If there are several, prost merges them into one.
fn parts(mut message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    // A malformed message is refused when it is decoded, so only the part before the error counts.
    std::iter::from_fn(move || fields::field(&mut message))
        .filter(move |field| field.number == number)
        .filter_map(|field| field.contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::p4::config::v1::P4Info;
    use crate::proto::p4::v1 as p4;
    use prost::Message;

    #[test]
    fn p4info_counts_many_times_and_json_twice() {
        let info = P4Info {
            tables: vec![Default::default(); 1000],
            ..Default::default()
        };
        let length = info.encoded_len();
        let request = p4::SetForwardingPipelineConfigRequest {
            role: "r".into(),
            config: Some(p4::ForwardingPipelineConfig {
                p4info: Some(info),
                p4_device_config: vec![7; 5000].into(),
                cookie: None,
            }),
            ..Default::default()
        };
        let bytes = request.encode_to_vec();
        assert_eq!(config_memory(&bytes), bytes.len() + 64 * length);
        assert!(config_memory(&bytes[..bytes.len() - 1]) < bytes.len() + 64 * length);
    }
}
