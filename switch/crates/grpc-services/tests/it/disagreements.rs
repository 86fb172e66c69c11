// SPDX-License-Identifier: Apache-2.0
//! P4Info that does not fit the program is refused in words that name what
//! disagrees, and nothing is changed by it.

use crate::common::*;
use grpc_services::proto::p4::config::v1 as config;
use grpc_services::proto::p4::v1 as p4;
use tonic::Code;

type Change = fn(&mut config::P4Info);

fn table<'a>(info: &'a mut config::P4Info, alias: &str) -> &'a mut config::Table {
    let mut tables = info.tables.iter_mut();
    let found = tables.find(|table| table.preamble.as_ref().unwrap().alias == alias);
    found.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_disagreement_is_named() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let changes: [(Change, &[&str]); 27] = [
        (
            |info| info.pkg_info.as_mut().unwrap().arch = "psa".into(),
            &["arch", "psa"],
        ),
        (|info| info.externs.push(Default::default()), &["extern"]),
        (
            |info| table(info, "stations").preamble.as_mut().unwrap().name = "no.such".into(),
            &["no.such"],
        ),
        (
            |info| table(info, "stations").preamble.as_mut().unwrap().id = 0,
            &["stations", "id"],
        ),
        (
            |info| info.registers[1].preamble = info.registers[0].preamble.clone(),
            &["TestIngress.marks", "same id"],
        ),
        (
            |info| drop(table(info, "filters").match_fields.pop()),
            &["filters", "match fields"],
        ),
        (
            |info| table(info, "filters").match_fields[0].name = "other".into(),
            &["filters", "hdr.ethernet.dst"],
        ),
        (
            |info| table(info, "filters").match_fields[0].bitwidth = 47,
            &["filters", "width", "47", "48"],
        ),
        (
            |info| table(info, "filters").match_fields[1].id = 1,
            &["filters", "two match fields"],
        ),
        (
            |info| {
                let lpm = config::match_field::MatchType::Lpm as i32;
                let field = &mut table(info, "stations").match_fields[0];
                field.r#match = Some(config::match_field::Match::MatchType(lpm));
            },
            &["stations", "match type", "Lpm", "Exact"],
        ),
        (
            |info| table(info, "stations").action_refs[0].id = 12345,
            &["stations", "12345"],
        ),
        (
            |info| table(info, "stations").const_default_action_id = 12345,
            &["stations", "const_default_action_id"],
        ),
        (
            |info| table(info, "ports").idle_timeout_behavior = 1,
            &["ports", "idle timeout"],
        ),
        (
            |info| table(info, "balanced").implementation_id = 0,
            &["balanced", "action profile"],
        ),
        (
            |info| table(info, "balanced").implementation_id = 12345,
            &["balanced", "implementation_id 12345"],
        ),
        (
            |info| table(info, "stations").direct_resource_ids.push(12345),
            &["stations", "direct_resource_ids"],
        ),
        (
            |info| {
                let mut actions = info.actions.iter_mut();
                let forward = actions.find(|x| x.preamble.as_ref().unwrap().alias == "forward");
                forward.unwrap().params[0].bitwidth = 8;
            },
            &["forward", "port", "width"],
        ),
        (
            |info| info.direct_counters.clear(),
            &["direct_resource_ids"],
        ),
        (
            |info| info.direct_meters[0].direct_table_id = 5,
            &["direct meter", "direct_table_id"],
        ),
        (
            |info| info.meters[0].spec.as_mut().unwrap().unit = 2,
            &["rates", "unit", "PACKETS"],
        ),
        (|info| info.meters[0].size = 5, &["rates", "size"]),
        (|info| info.counters[0].size = 5, &["seen", "size"]),
        (|info| info.registers[0].size = 5, &["marks", "size"]),
        (
            |info| info.registers[0].type_spec = None,
            &["marks", "type"],
        ),
        (
            |info| info.value_sets[0].size = 5,
            &["trusted_types", "size"],
        ),
        (
            |info| info.type_info.as_mut().unwrap().structs.clear(),
            &["learn_t", "type_info"],
        ),
        (
            |info| {
                let types = &mut info.type_info.as_mut().unwrap().new_types;
                let port = types.get_mut("port_id_t").unwrap();
                use config::p4_new_type_spec::Representation;
                use config::p4_new_type_translation::{SdnString, SdnType};
                let Some(Representation::TranslatedType(port)) = &mut port.representation else {
                    panic!("not translated");
                };
                port.sdn_type = Some(SdnType::SdnString(SdnString {}));
            },
            &["port_id_t", "sdn_string"],
        ),
    ];
    let before = fixture.pipeline(ResponseType::All).await;
    for (n, (change, words)) in changes.into_iter().enumerate() {
        let mut config = config("entities");
        change(config.p4info.as_mut().unwrap());
        config.cookie = Some(p4::forwarding_pipeline_config::Cookie { cookie: 9 });
        for action in [
            Action::Verify,
            Action::VerifyAndCommit,
            Action::ReconcileAndCommit,
        ] {
            let set = fixture.set_pipeline(action, Some(config.clone())).await;
            let status = set.expect_err(&format!("change {n} is accepted"));
            assert_eq!(
                status.code(),
                Code::InvalidArgument,
                "change {n}: {status:?}"
            );
            for word in words {
                let message = status.message();
                assert!(
                    message.contains(word),
                    "change {n}: {word} not in {message}"
                );
            }
        }
    }
    assert_eq!(fixture.pipeline(ResponseType::All).await, before);
    // What a controller need not see may be left out.
    let mut partial = config("entities");
    let info = partial.p4info.as_mut().unwrap();
    info.tables
        .retain(|table| table.preamble.as_ref().unwrap().alias == "ports");
    info.action_profiles.clear();
    info.direct_meters.clear();
    info.direct_counters.clear();
    info.registers.clear();
    fixture
        .set_pipeline(Action::VerifyAndCommit, Some(partial))
        .await
        .unwrap();
    fixture.stop().await;
}
