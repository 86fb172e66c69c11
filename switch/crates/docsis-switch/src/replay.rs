// SPDX-License-Identifier: Apache-2.0
//! `docsis-switch replay`: plays recordings again, in virtual time.

use clap::Args;
use device::DropPlace;
use recording::{Counted, Difference, Ended, Reader, Report};
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Recordings of `docsis-switch --record`.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// One file again.
///
/// # Errors
/// One sentence: it cannot be read, or is damaged.
fn replay(path: &Path) -> Result<(u64, Report), String> {
    let named = |what: String| format!("the recording {} {what}", path.display());
    let file = File::open(path).map_err(|error| named(format!("cannot be read: {error}")))?;
    let damaged = |error| named(format!("is damaged {error}"));
    let (header, mut reader) =
        Reader::new(BufReader::with_capacity(1 << 18, file)).map_err(damaged)?;
    let report = recording::replay(&header, &mut reader).map_err(damaged)?;
    Ok((header.device_id, report))
}

fn ended(report: &Report) -> &'static str {
    match report.ended {
        Ended::Stopped => "stopped",
        Ended::Limit => "limit",
        Ended::Overrun => "overrun",
        Ended::CutOff => "cut_off",
    }
}

fn dropped(counted: &Counted) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    let places = DropPlace::ALL.iter().zip(counted.dropped);
    places.filter_map(|(place, frames)| (frames > 0).then_some((place.name(), frames)))
}

fn as_json(path: &Path, device_id: u64, report: &Report) -> Value {
    let counted = &report.counted;
    let (first, last) = counted.span.unwrap_or_default();
    let difference = report.difference.as_ref().map(|difference| {
        json!({
            "what": difference.what,
            "at_ns": difference.at,
            "port": difference.port,
            "recorded": difference.recorded,
            "replayed": difference.replayed,
        })
    });
    json!({
        "file": path.display().to_string(),
        "device_id": device_id,
        "ended": ended(report),
        "first_ns": first,
        "last_ns": last,
        "frames_in": counted.arrived.0,
        "bytes_in": counted.arrived.1,
        "frames_out": counted.sent.0,
        "bytes_out": counted.sent.1,
        "packet_ins": counted.packet_ins,
        "events": counted.events,
        "dropped": dropped(counted).collect::<std::collections::BTreeMap<_, _>>(),
        "requests": counted.requests,
        "messages": counted.messages,
        "turns": counted.turns,
        "answers": counted.answers,
        "jumps": counted.jumps,
        "links": counted.links,
        "steps": report.steps,
        "same": report.same,
        "first_difference": difference,
    })
}

fn in_words(path: &Path, device_id: u64, report: &Report) -> String {
    let counted = &report.counted;
    let (first, last) = counted.span.unwrap_or_default();
    let drops: Vec<_> = dropped(counted)
        .map(|(place, frames)| format!("{frames} {place}"))
        .collect();
    let drops = if drops.is_empty() {
        "none".to_owned()
    } else {
        drops.join(", ")
    };
    let how = match report.ended {
        Ended::Stopped => "complete",
        Ended::Limit => "not complete: it reached its limit",
        Ended::Overrun => "not complete: the disk did not keep up",
        Ended::CutOff => "not complete: it is cut off",
    };
    let mut words = format!(
        "{}: device {device_id}, {:.3} s, {how}\n  frames in {}, out {}, dropped: {drops}\n  \
         requests {}, messages {}, turns on the device's thread {}, packet-ins {}, events {}, \
         jumps of time {}\n",
        path.display(),
        (last - first) as f64 / 1e9,
        counted.arrived.0,
        counted.sent.0,
        counted.requests,
        counted.messages,
        counted.turns,
        counted.packet_ins,
        counted.events,
        counted.jumps,
    );
    match &report.difference {
        None => words += &format!("  all {} outputs and answers are the same\n", report.same),
        Some(Difference {
            what,
            at,
            port,
            recorded,
            replayed,
        }) => {
            let port = port.map_or(String::new(), |port| format!(", port {port}"));
            words += &format!(
                "  {} outputs and answers are the same; then differs: {what}, at {at} ns{port}\n    \
                 recorded: {recorded}\n    replayed: {replayed}\n",
                report.same
            );
        }
    }
    words
}

/// Replays files, and says what came of each. 0: all is the same; 1: something differs; 2: a file
/// cannot be replayed.
pub fn run(options: &ReplayArgs) -> ExitCode {
    let (mut reports, mut is_same) = (Vec::new(), true);
    for path in &options.files {
        let (device_id, report) = match replay(path) {
            Ok(replayed) => replayed,
            Err(sentence) => {
                eprintln!("docsis-switch: {sentence}");
                return ExitCode::from(2);
            }
        };
        is_same &= report.difference.is_none();
        if options.json {
            reports.push(as_json(path, device_id, &report));
        } else {
            print!("{}", in_words(path, device_id, &report));
        }
    }
    if options.json {
        println!("{}", json!({ "recordings": reports }));
    }
    ExitCode::from(u8::from(!is_same))
}
