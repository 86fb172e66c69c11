// SPDX-License-Identifier: Apache-2.0
//! Meters and direct meters, and direct counters of entries that are modified.

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use p4::entity::Entity;
use tonic::Code;

fn rates(cir: i64, pir: i64) -> Option<p4::MeterConfig> {
    Some(p4::MeterConfig {
        cir,
        cburst: 10,
        pir,
        pburst: 20,
        eburst: 0,
    })
}

fn cell(meter_id: u32, index: Option<i64>, config: Option<p4::MeterConfig>) -> Entity {
    Entity::MeterEntry(Box::new(p4::MeterEntry {
        meter_id,
        index: index.map(|index| p4::Index { index }),
        config,
        counter_data: None,
    }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn indirect_meters_are_configured_reset_and_read() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let id = fixture.id("rates");
    fixture
        .write(vec![modify(cell(id, Some(1), rates(100, 200)))])
        .await
        .unwrap();
    let expected = |configs: [Option<p4::MeterConfig>; 4]| {
        let cells = configs.into_iter().zip(0..);
        let cells = cells.map(|(config, index)| cell(id, Some(index), config));
        cells.collect::<Vec<_>>()
    };
    let set = expected([None, rates(100, 200), None, None]);
    for wanted in [cell(id, None, None), cell(0, None, None)] {
        assert_eq!(fixture.read(vec![wanted]).await.unwrap(), set);
    }
    let one = fixture.read(vec![cell(id, Some(1), None)]).await;
    assert_eq!(one.unwrap(), set[1..2]);
    // All at once, and back to the default, which marks nothing.
    fixture
        .write(vec![modify(cell(id, None, rates(1, 1)))])
        .await
        .unwrap();
    fixture
        .write(vec![modify(cell(id, Some(2), None))])
        .await
        .unwrap();
    let found = fixture.read(vec![cell(id, None, None)]).await.unwrap();
    let all = rates(1, 1);
    assert_eq!(found, expected([all, all, None, all]));

    let with_eburst = Some(p4::MeterConfig {
        eburst: 1,
        ..rates(1, 1).unwrap()
    });
    let colours = Entity::MeterEntry(Box::new(p4::MeterEntry {
        meter_id: id,
        counter_data: Some(p4::MeterCounterData::default()),
        ..Default::default()
    }));
    for (update, code, words) in [
        (
            insert(cell(id, Some(0), None)),
            Code::InvalidArgument,
            "MODIFY",
        ),
        (
            delete(cell(id, Some(0), None)),
            Code::InvalidArgument,
            "MODIFY",
        ),
        (
            modify(cell(id, Some(-1), None)),
            Code::InvalidArgument,
            "negative",
        ),
        (modify(cell(id, Some(4), None)), Code::OutOfRange, "4 cells"),
        (
            modify(cell(0, None, None)),
            Code::InvalidArgument,
            "meter_id",
        ),
        (modify(cell(9, None, None)), Code::NotFound, "9"),
        (
            modify(cell(id, None, rates(2, 1))),
            Code::InvalidArgument,
            "pir",
        ),
        (
            modify(cell(id, None, rates(-1, 1))),
            Code::InvalidArgument,
            "cir",
        ),
        (
            modify(cell(id, None, with_eburst)),
            Code::InvalidArgument,
            "eburst",
        ),
        (
            modify(colours.clone()),
            Code::Unimplemented,
            "MeterCounterData",
        ),
    ] {
        let (found, message) = fixture.write_fails(update).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    let status = fixture.read(vec![colours]).await.unwrap_err();
    assert_eq!(errors(&status)[0].0, Code::Unimplemented);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn direct_meters_belong_to_their_entries() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let table_id = fixture.id("stations");
    let key = |address: u8| p4::TableEntry {
        table_id,
        r#match: vec![exact(1, &[address])],
        ..Default::default()
    };
    let known = action(fixture.id("known"), &[]);
    let entry = |address, meter_config| p4::TableEntry {
        action: known.clone(),
        meter_config,
        ..key(address)
    };
    let direct = |entry: p4::TableEntry, config| {
        Entity::DirectMeterEntry(Box::new(p4::DirectMeterEntry {
            table_entry: Some(entry),
            config,
            counter_data: None,
        }))
    };
    let (one, two) = (key(1), key(2));
    fixture
        .write(vec![
            insert(table_entry(entry(1, rates(5, 6)))),
            insert(table_entry(entry(2, None))),
        ])
        .await
        .unwrap();
    let select = |config| {
        vec![table_entry(p4::TableEntry {
            table_id: one.table_id,
            meter_config: config,
            ..Default::default()
        })]
    };
    // The configuration is read where it is asked for, and where there is one.
    let found = fixture.read(select(None)).await.unwrap();
    assert_eq!(
        found,
        [table_entry(entry(1, None)), table_entry(entry(2, None))]
    );
    let asked = Some(p4::MeterConfig::default());
    let found = fixture.read(select(asked)).await.unwrap();
    let both = [
        table_entry(entry(1, rates(5, 6))),
        table_entry(entry(2, None)),
    ];
    assert_eq!(found, both);
    let found = fixture.read(vec![direct(one.clone(), None)]).await;
    assert_eq!(found.unwrap(), [direct(one.clone(), rates(5, 6))]);

    fixture
        .write(vec![
            modify(direct(two.clone(), rates(7, 8))),
            // Modified without a configuration: back to the default.
            modify(table_entry(entry(1, None))),
        ])
        .await
        .unwrap();
    let all = vec![direct(p4::TableEntry::default(), None)];
    let found = fixture.read(all.clone()).await.unwrap();
    let expected = [direct(one.clone(), None), direct(two.clone(), rates(7, 8))];
    assert_eq!(found, expected);
    fixture
        .write(vec![modify(direct(two.clone(), None))])
        .await
        .unwrap();
    let found = fixture.read(all).await.unwrap();
    assert_eq!(found[1], direct(two.clone(), None));

    let ports = p4::TableEntry {
        table_id: fixture.id("ports"),
        r#match: vec![exact(1, &[1])],
        meter_config: rates(1, 1),
        action: action(fixture.id("NoAction"), &[]),
        ..Default::default()
    };
    for (update, code, words) in [
        (
            insert(direct(one.clone(), None)),
            Code::InvalidArgument,
            "MODIFY",
        ),
        (modify(direct(key(9), None)), Code::NotFound, "stations"),
        (
            insert(table_entry(ports)),
            Code::InvalidArgument,
            "no direct meter",
        ),
        (
            insert(table_entry(entry(3, rates(9, 8)))),
            Code::InvalidArgument,
            "pir",
        ),
    ] {
        let (found, message) = fixture.write_fails(update).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    let status = fixture.read(vec![direct(key(9), None)]).await.unwrap_err();
    assert_eq!(errors(&status)[0].0, Code::NotFound);
    fixture.stop().await;
}
