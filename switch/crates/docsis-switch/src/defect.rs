// SPDX-License-Identifier: Apache-2.0
//! A panic is a defect of the switch: it says so and ends the whole process,
//! in whatever thread it happens. Half a switch would be worse than none. The only exception is the
//! examination of a client's program, before any of it is kept: a panic there refuses the program.

use crate::{last_words, logging, output_file};
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write;
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The exit status: EX_SOFTWARE of sysexits.h.
const STATUS: i32 = 70;

static LOG_FILE: OnceLock<PathBuf> = OnceLock::new();

/// From now on a panic ends the process.
pub fn install() {
    std::panic::set_hook(Box::new(|panic| {
        let contained = grpc_services::panic_is_contained();
        let text = report(panic, contained);
        if contained {
            // The switch goes on, so nobody who reads standard error is waited for.
            tracing::error!("{text}");
            return;
        }
        // What led to it comes before it in the log.
        logging::finish();
        if let Some(path) = LOG_FILE.get()
            && let Ok(mut file) = output_file::append(path)
        {
            let _ = file.write_all(text.as_bytes());
        }
        last_words::say(move || {
            let _ = std::io::stderr().write_all(text.as_bytes());
        });
        // Nothing else that runs at an orderly end: it could wait for the thread
        // that is here.
        // SAFETY: no pointers.
        unsafe { libc::_exit(STATUS) };
    }));
}

/// Defects are reported in this file, too.
pub fn also_in(log_file: PathBuf) {
    let _ = LOG_FILE.set(log_file);
}

/// Fails in a thread of its own, for the test of what happens then.
#[cfg(debug_assertions)]
pub fn provoke() {
    let thread = std::thread::Builder::new().name("defect".into());
    let _ = thread.spawn(|| panic!("as asked for"));
}

fn message<'a>(panic: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = panic.payload();
    let literal = payload.downcast_ref::<&str>().copied();
    literal
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

fn report(panic: &PanicHookInfo<'_>, contained: bool) -> String {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("without a name");
    let place = panic.location().map(ToString::to_string);
    let mut text = format!(
        "docsis-switch: defect: thread {thread} failed at {}: {}\n",
        place.as_deref().unwrap_or("an unknown place"),
        message(panic),
    );
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        text += &format!("{backtrace}\n");
    }
    let end = if contained {
        "the program was refused, and the switch goes on with the one it had"
    } else {
        "the switch has ended"
    };
    text += &format!(
        "docsis-switch: this is a defect of docsis-switch {}, whatever it was given; please report \
         it to the project with these lines, the command line, the program (JSON) and, where \
         possible, what RUST_BACKTRACE=1 and --pcap add; {end}\n",
        env!("CARGO_PKG_VERSION")
    );
    text
}
