// SPDX-License-Identifier: Apache-2.0
//! What a `SetForwardingPipelineConfigRequest` will take, told before it is taken apart.

use super::fields;

/// Numbers of `SetForwardingPipelineConfigRequest.config` and `ForwardingPipelineConfig.p4info`.
const CONFIG: u64 = 5;
const P4INFO: u64 = 1;
/// Bytes of memory for each of P4Info, as objects: an empty one is two on the wire and 100 and more
/// in memory.
const P4INFO_FACTOR: usize = 64;

/// Bytes of memory of what a request becomes beside its own: P4Info as objects, and a program that
/// takes about as much as its JSON.
pub fn config_memory(request: &[u8]) -> usize {
    let configs = parts(request, CONFIG);
    let infos = configs.flat_map(|config| parts(config, P4INFO));
    request.len() + P4INFO_FACTOR * infos.map(<[u8]>::len).sum::<usize>()
}

/// The messages in a field, of which prost makes one.
fn parts(mut message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    // What is malformed is refused when it is decoded, up to where it is.
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
