// SPDX-License-Identifier: Apache-2.0
//! What a trace says, word by word.

use crate::common::{call, pass, pipeline, table};
use std::io::Write;
use std::sync::{Arc, Mutex};
use v1model::trace::*;
use v1model::*;

/// A writer that the test can look into.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn frame(kind: u16, ttl: u8, dst: [u8; 4]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend(kind.to_be_bytes());
    frame.extend([ttl, 17]);
    frame.extend(dst);
    frame
}

fn router(sink: Box<dyn TraceSink + Send>) -> Pipeline {
    let mut p = pipeline("trace.json");
    let route = table(&p, "route");
    let forward = call(&p, route, "forward", &[2, 0x0a0b_0c0d_0e0f]);
    let key = EntryKey {
        matches: vec![Match::Lpm {
            value: 0x0a00_0100,
            prefix_len: 24,
        }],
        priority: 0,
    };
    let options = EntryOptions::default();
    p.insert(0, route, &key, &forward.into(), &options).unwrap();
    p.set_trace(Some(sink));
    p
}

/// The packets of all tests: routed, not routed, too short, no IPv4.
fn send_all(p: &mut Pipeline) {
    let sent = pass(p, 1, &frame(0x0800, 64, [10, 0, 1, 7]));
    assert_eq!(sent.unwrap().0, 2);
    assert_eq!(pass(p, 1, &frame(0x0800, 64, [10, 0, 2, 7])), None);
    assert_eq!(pass(p, 3, &frame(0x0800, 1, [10, 0, 1, 7])), None);
    assert_eq!(pass(p, 1, &frame(0x0800, 0, [10, 0, 2, 7])), None);
    assert_eq!(pass(p, 1, &frame(0x0800, 9, [10, 0, 2, 7])[..16]), None);
}

#[test]
fn a_trace_is_readable() {
    let out = Shared::default();
    let text = TextTrace::new(out.clone(), TraceFilter::default(), 1 << 20);
    let mut p = router(Box::new(text));
    send_all(&mut p);
    p.set_trace(None);
    let expected = include_str!("trace.txt");
    let got = out.text();
    assert!(
        got.trim_end() == expected.trim_end(),
        "the trace is now:\n{got}"
    );
}

/// A student's commonest mistake: the parser does not get to a header.
#[test]
fn a_key_of_a_header_that_is_not_valid_says_so() {
    let (text, json) = (Shared::default(), Shared::default());
    let mut p = pipeline("counters.json");
    let filter = TraceFilter::default;
    p.set_trace(Some(Box::new(TextTrace::new(
        text.clone(),
        filter(),
        1 << 20,
    ))));
    assert!(pass(&mut p, 1, &[7]).is_none());
    p.set_trace(Some(Box::new(JsonTrace::new(
        json.clone(),
        filter(),
        1 << 20,
    ))));
    assert!(pass(&mut p, 1, &[7]).is_none());
    assert!(pass(&mut p, 1, &[7, 8]).is_none());
    p.set_trace(None);
    let line = "hdr.probe.key = 0, as its header is not valid\n";
    assert!(text.text().contains(line), "{}", text.text());
    let events = json.text();
    let events = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let valid = events
        .filter(|event: &serde_json::Value| event["event"] == "table")
        .map(|event| event["key"][0]["valid"].as_bool());
    assert_eq!(valid.collect::<Vec<_>>(), [Some(false), Some(true)]);
}

#[test]
fn a_trace_is_json_lines() {
    let out = Shared::default();
    let json = JsonTrace::new(out.clone(), TraceFilter::default(), 1 << 20);
    let mut p = router(Box::new(json));
    send_all(&mut p);
    let text = out.text();
    let events: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for event in &events {
        assert!(
            event["packet"].is_u64() && event["time_ns"].is_u64() && event["event"].is_string()
        );
    }
    let first: Vec<&serde_json::Value> = events.iter().filter(|e| e["packet"] == 1).collect();
    assert_eq!(first[0]["event"], "received");
    assert_eq!(
        (&first[0]["port"], &first[0]["length"]),
        (&1.into(), &20.into())
    );
    let tables: Vec<_> = first.iter().filter(|e| e["event"] == "table").collect();
    let route = tables[0];
    assert_eq!(route["table"], "TraceIngress.route");
    assert_eq!(route["hit"], true);
    assert_eq!(route["key"][0]["name"], "hdr.ipv4.dst");
    assert_eq!(route["key"][0]["value"], "0x0a000107");
    assert_eq!(route["entry"][0]["value"], "0x0a000100");
    assert_eq!(route["entry"][0]["prefix_len"], 24);
    assert_eq!(route["action"], "TraceIngress.forward");
    assert_eq!(route["args"][0]["value"], "0x002");
    let condition = first.iter().find(|e| e["event"] == "condition").unwrap();
    assert_eq!(condition["outcome"], true);
    assert_eq!(condition["source"]["text"], "hdr.ipv4.isValid()");
    assert!(condition["source"]["line"].as_u64().unwrap() > 40);

    let drops: Vec<_> = events.iter().filter(|e| e["event"] == "dropped").collect();
    assert_eq!(drops.len(), 4);
    assert!(drops.iter().all(|d| d["reason"] == "marked_to_drop"));
    assert_eq!(drops[0]["table"], "TraceIngress.route");
    assert_eq!(drops[0]["action"], "TraceIngress.drop");
    assert_eq!(drops[1]["action"], "TraceEgress.too_old");
    let error = events
        .iter()
        .find(|e| e["event"] == "parser_error")
        .unwrap();
    assert_eq!(error["error"], "ParserInvalidArgument");
    assert_eq!(error["state"], "parse_ipv4");
}

#[test]
fn a_filter_chooses_packets() {
    let filter: TraceFilter = "port=3,packets=1".parse().unwrap();
    let out = Shared::default();
    let mut p = router(Box::new(TextTrace::new(out.clone(), filter, 1 << 20)));
    send_all(&mut p);
    send_all(&mut p);
    let text = out.text();
    assert_eq!(text.matches("packet ").count(), 1, "{text}");
    assert!(text.starts_with("packet 1: 20 bytes from port 3"), "{text}");
    assert!("port=x".parse::<TraceFilter>().is_err());
    assert!("colour=red".parse::<TraceFilter>().is_err());
}

#[test]
fn a_trace_has_at_most_its_length() {
    let out = Shared::default();
    let mut p = router(Box::new(JsonTrace::new(
        out.clone(),
        TraceFilter::default(),
        1000,
    )));
    for _ in 0..10 {
        send_all(&mut p);
    }
    let text = out.text();
    assert!(text.len() <= 1000 && text.ends_with("}\n"), "{text}");
}

#[test]
fn a_drop_by_way_of_a_copy_is_where_the_copy_was_marked() {
    /// The line of every drop.
    #[derive(Clone, Default)]
    struct Drops(Arc<Mutex<Vec<u64>>>);

    impl TraceSink for Drops {
        fn begin(&mut self, _: u64, _: u16, _: &[u8]) -> Option<u64> {
            Some(1)
        }

        fn copy(&mut self, of: u64) -> u64 {
            of
        }

        fn event(&mut self, _: u64, _: u64, event: &TraceEvent<'_>) {
            if let TraceEvent::Dropped(DropReason::Marked(cause)) = event {
                let line = cause.source.map_or(0, |source| source.line);
                self.0.lock().unwrap().push(line);
            }
        }
    }

    let drops = Drops::default();
    let mut p = pipeline("drop_copies.json");
    p.set_trace(Some(Box::new(drops.clone())));
    let source = include_str!("../programs/drop_copies.p4");
    let line = |text: &str| {
        let at = source.lines().position(|line| line.contains(text));
        at.unwrap() as u64 + 1
    };
    // In an action, in a table's action, in a copy of the control's own, and none.
    let copy = line("standard_metadata_t copy = sm;") + 4;
    for (request, wanted) in [
        ([0x10, 0], Some(line("action drop("))),
        ([0x20, 0], Some(line("action drop("))),
        ([0x51, 0], Some(copy + 1)),
        ([0, 0x10], Some(line("action drop("))),
        ([0x50, 0], None),
    ] {
        drops.0.lock().unwrap().clear();
        assert_eq!(pass(&mut p, 0, &request).is_none(), wanted.is_some());
        let lines = drops.0.lock().unwrap().clone();
        assert_eq!(lines, Vec::from_iter(wanted), "{request:x?}");
    }
}
