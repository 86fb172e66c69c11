// SPDX-License-Identifier: Apache-2.0
//! A forwarding pipeline config that was verified, with that part of its state that the device does
//! not hold.

use std::sync::{Arc, Mutex};

use prost::Message;
use prost::bytes::Bytes;
use v1model::{LoadOptions, Program};

use crate::device_config;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1 as p4;
use crate::schema::Schema;
use crate::wire::EncodedConfig;

/// A verified pipeline: P4Info and JSON that fit each other.
#[derive(Debug)]
pub struct PipelineConfig {
    pub(crate) program: Arc<Program>,
    pub(crate) schema: Schema,
    /// The config as the client gave it, which is returned and compared, so that P4Info is not kept
    /// as objects.
    pub(crate) config: EncodedConfig,
    pub(crate) notes: Mutex<Notes>,
}

impl PipelineConfig {
    /// The config of a device that was started with a pipeline: `program` was loaded from `json`,
    /// and `info` should describe it.
    ///
    /// # Errors
    /// P4Info and program disagree; the sentence names the object.
    pub fn new(info: P4Info, json: Vec<u8>, program: Arc<Program>) -> Result<Self, String> {
        let schema = Schema::bind(&info, &program)?;
        let config = EncodedConfig {
            p4info: Some(info.encode_to_vec().into()),
            p4_device_config: Bytes::from(json),
            cookie: None,
        };
        Ok(PipelineConfig {
            program,
            schema,
            config,
            notes: Mutex::default(),
        })
    }

    /// Verifies the config that a client sent. This takes long, so an async task must not call it.
    pub(crate) fn verify(
        config: p4::ForwardingPipelineConfig,
        load: &LoadOptions,
    ) -> Result<Self, Failure> {
        let info = config
            .p4info
            .as_ref()
            .ok_or_else(|| Failure::invalid("config.p4info is unset"))?;
        let json = device_config::json(&config.p4_device_config).map_err(Failure::invalid)?;
        let program = Program::load_with(&json, load)
            .map_err(|error| Failure::invalid(format!("p4_device_config: {error}")))?;
        let schema = Schema::bind(info, &program).map_err(Failure::invalid)?;
        Ok(PipelineConfig {
            program: Arc::new(program),
            schema,
            config: EncodedConfig {
                p4info: Some(info.encode_to_vec().into()),
                p4_device_config: config.p4_device_config,
                cookie: config.cookie,
            },
            notes: Mutex::default(),
        })
    }

    /// Whether both are the same pipeline, whatever their cookies.
    pub(crate) fn is_same_pipeline(&self, other: &PipelineConfig) -> bool {
        self.config.p4info == other.config.p4info
            && self.config.p4_device_config == other.config.p4_device_config
    }
}

/// Locks a mutex whose data are always valid, even if a thread panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::proto::p4::config::v1::P4StructTypeSpec;

    /// Maps are encoded in one order, whatever order they were made in.
    #[test]
    fn equal_pipelines_are_recognized_by_their_bytes() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../v1model/tests/programs");
        let json = std::fs::read(format!("{folder}/entities.json")).unwrap();
        let text = std::fs::read_to_string(format!("{folder}/entities.p4info.txtpb")).unwrap();
        let verified = |names: &mut dyn Iterator<Item = u32>| {
            let mut info = crate::p4info_from_text(&text).unwrap();
            let structs = names.map(|n| (format!("s{n}"), P4StructTypeSpec::default()));
            let types = info.type_info.get_or_insert_default();
            types.structs.extend(structs);
            let config = p4::ForwardingPipelineConfig {
                p4info: Some(info),
                p4_device_config: json.clone().into(),
                cookie: None,
            };
            PipelineConfig::verify(config, &LoadOptions::default()).unwrap()
        };
        let one = verified(&mut (0..50));
        assert!(one.is_same_pipeline(&verified(&mut (0..50).rev())));
        assert!(!one.is_same_pipeline(&verified(&mut (0..49))));
    }
}
