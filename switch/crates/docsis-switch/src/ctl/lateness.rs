// SPDX-License-Identifier: Apache-2.0
//! `docsis-switch ctl lateness`: how late devices ran what was due.

use grpc_services::proto::docsis::tm::v1 as tm;
use serde_json::{Value, json};

/// A verdict from real hosts needs a p99 of at most this, ns.
const MOST_FOR_A_VERDICT: u64 = 1_000_000;

/// The lateness that the share `q` of all events did not exceed, within an eighth.
fn quantile(answer: &tm::GetLatenessResponse, q: f64) -> u64 {
    let count: u64 = answer.buckets.iter().map(|bucket| bucket.count).sum();
    let rank = (count as f64 * q).ceil() as u64;
    let mut below = 0;
    let reached = answer.buckets.iter().find(|bucket| {
        below += bucket.count;
        below >= rank
    });
    reached.map_or(0, |bucket| bucket.upto_ns.min(answer.most_ns))
}

/// For programs.
pub fn json(device_id: u64, answer: &tm::GetLatenessResponse) -> Value {
    let buckets = answer.buckets.iter();
    let buckets = buckets.map(|bucket| json!({"upto_ns": bucket.upto_ns, "count": bucket.count}));
    json!({
        "device_id": device_id,
        "now_ns": answer.now_ns,
        "p50_ns": quantile(answer, 0.5),
        "p99_ns": quantile(answer, 0.99),
        "most_ns": answer.most_ns,
        "bound_ns": answer.bound_ns,
        "jumps": answer.jumps,
        "jumped_ns": answer.jumped_ns,
        "valid": answer.jumps == 0,
        "buckets": buckets.collect::<Vec<_>>(),
    })
}

/// For people.
pub fn sentences(device_id: u64, answer: &tm::GetLatenessResponse) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    let events: u64 = answer.buckets.iter().map(|bucket| bucket.count).sum();
    let p99 = quantile(answer, 0.99);
    let mut text = format!(
        "device {device_id}: {events} events were late by {:.1} us at the median, {:.1} us at p99, \
         {:.1} us at the most.\n",
        us(quantile(answer, 0.5)),
        us(p99),
        us(answer.most_ns),
    );
    text += &if answer.jumps > 0 {
        format!(
            "  Time jumped {} times, over {:.1} ms in sum, because the switch was more than {:.0} ms late: \
             what was measured meanwhile is not valid.\n",
            answer.jumps,
            answer.jumped_ns as f64 / 1e6,
            answer.bound_ns as f64 / 1e6,
        )
    } else if p99 > MOST_FOR_A_VERDICT {
        "  Rates are right, but hosts saw frames later than 1 ms at p99: latencies are no verdict.\n"
            .to_owned()
    } else {
        "  Time never jumped: what was measured is valid.\n".to_owned()
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(buckets: &[(u64, u64)], jumps: u64) -> tm::GetLatenessResponse {
        let bucket = |&(upto_ns, count)| tm::LatenessBucket { upto_ns, count };
        tm::GetLatenessResponse {
            buckets: buckets.iter().map(bucket).collect(),
            most_ns: 30_000_000,
            bound_ns: 20_000_000,
            jumps,
            jumped_ns: jumps * 10_000_000,
            ..Default::default()
        }
    }

    #[test]
    fn quantiles_are_of_all_buckets() {
        let answer = answer(&[(10, 50), (1_000, 49), (u64::MAX, 1)], 0);
        let at = |q| quantile(&answer, q);
        assert_eq!(
            [at(0.5), at(0.51), at(0.99), at(1.0)],
            [10, 1_000, 1_000, 30_000_000]
        );
    }

    #[test]
    fn a_jump_makes_it_invalid_and_a_late_p99_no_verdict() {
        let quiet = answer(&[(1_000, 1)], 0);
        assert!(sentences(0, &quiet).ends_with("is valid.\n"));
        let late = answer(&[(2_000_000, 1)], 0);
        assert!(sentences(0, &late).ends_with("no verdict.\n"));
        let jumped = answer(&[(1_000, 1)], 1);
        assert!(sentences(0, &jumped).ends_with("not valid.\n"));
        assert_eq!(json(0, &jumped)["valid"], false);
    }
}
