// SPDX-License-Identifier: Apache-2.0
//! Pipeline configs on the wire: how much memory a `SetForwardingPipelineConfigRequest` will take,
//! before it is decoded, and answers whose P4Info stays encoded.

use bytes::Bytes;

use super::fields;
use crate::proto::p4::v1::forwarding_pipeline_config::Cookie;

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

/// A `ForwardingPipelineConfig` whose P4Info stays encoded. A message and its bytes look the same on
/// the wire, and as objects P4Info takes some tens of times as much memory.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EncodedConfig {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub p4info: Option<Bytes>,
    #[prost(bytes = "bytes", tag = "2")]
    pub p4_device_config: Bytes,
    #[prost(message, optional, tag = "3")]
    pub cookie: Option<Cookie>,
}

/// A `GetForwardingPipelineConfigResponse` whose P4Info stays encoded.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EncodedConfigResponse {
    #[prost(message, optional, tag = "1")]
    pub config: Option<EncodedConfig>,
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

    #[test]
    fn an_answer_with_encoded_p4info_is_the_answer() {
        let info = P4Info {
            tables: vec![Default::default(); 3],
            ..Default::default()
        };
        let cookie = Some(Cookie { cookie: 42 });
        for (info, json, cookie) in [
            (Some(info), &b"{}"[..], cookie),
            (Some(P4Info::default()), b"", None),
            (None, b"{}", cookie),
            (None, b"", None),
        ] {
            let encoded = EncodedConfigResponse {
                config: Some(EncodedConfig {
                    p4info: info.as_ref().map(|info| info.encode_to_vec().into()),
                    p4_device_config: Bytes::from_static(json),
                    cookie,
                }),
            };
            let plain = p4::GetForwardingPipelineConfigResponse {
                config: Some(p4::ForwardingPipelineConfig {
                    p4info: info,
                    p4_device_config: Bytes::from_static(json),
                    cookie,
                }),
            };
            assert_eq!(encoded.encode_to_vec(), plain.encode_to_vec());
        }
    }
}
