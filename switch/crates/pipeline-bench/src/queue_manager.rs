// SPDX-License-Identifier: Apache-2.0
//! The queue managers that benchmarks and samples provision a modem with.
//!
//! The controller's registry writes the file that lists them (`make tables`), so nothing here has
//! to be told of a new one.

use clap::Args;
use device::RoundRobin;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file's name, which is in the folder above that of the compiled programs.
const FILE: &str = "queue_managers.json";
/// The longest file that is read, bytes.
const LONGEST: u64 = 1 << 20;
/// The most sub-queues of a service flow.
const MOST_QUEUES: u32 = 256;

/// The option that names the file.
#[derive(Debug, Clone, Default, Args)]
pub struct ManagersFile {
    /// The queue managers and what each gets in the pipeline, as `make tables` writes them
    /// [default: queue_managers.json in the folder above the program's].
    #[arg(long, value_name = "FILE")]
    pub managers: Option<PathBuf>,
}

/// The queue managers of a file; there is at least one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueManagers {
    managers: Vec<QueueManager>,
    #[serde(skip)]
    place: String,
}

/// A queue manager: what decides early drops, and how a service flow's queue is divided.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueManager {
    /// The name of its preset.
    pub name: String,
    /// Its number in p4src/include/queue_managers.p4.
    pub number: u32,
    /// The latency target of its service flows, microseconds, if it has one of its own.
    pub latency_target_us: Option<u32>,
    /// The sub-queues of a service flow, if there are any.
    pub flow_queues: Option<FlowQueues>,
    /// The entries of a service flow in tables of its own, which are keyed by the service flow.
    pub entries: Vec<Entry>,
    /// The values of the service flow's cells in registers, by the registers' names.
    pub registers: BTreeMap<String, u64>,
}

/// The sub-queues of a service flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowQueues {
    /// How many there are, which is a multiple of 4 if they are searched.
    pub queues: u32,
    /// Whether a session searches for a queue of its own in its group of 4.
    pub searched: bool,
    /// How the sub-queues take turns.
    #[serde(with = "Turns")]
    pub round_robin: RoundRobin,
}

/// The names of [`RoundRobin`] in the file.
#[derive(Deserialize)]
#[serde(remote = "RoundRobin", rename_all = "lowercase")]
enum Turns {
    Deficit,
    Packets,
}

/// An entry of a table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The table's name.
    pub table: String,
    /// The action's name.
    pub action: String,
    /// The action's parameters by name.
    pub params: BTreeMap<String, u64>,
}

impl QueueManagers {
    /// Reads the given file, or the one above `build`, the folder of the compiled programs.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn load(given: &ManagersFile, build: &Path) -> Result<Self, String> {
        let default = || match (build.file_name(), build.parent()) {
            (Some(_), Some(above)) => above.join(FILE),
            _ => build.join("..").join(FILE),
        };
        let path = given.managers.clone().unwrap_or_else(default);
        let place = path.display().to_string();
        let cannot = |error: std::io::Error| {
            format!("the queue managers' file {place} cannot be read: {error}")
        };
        if std::fs::metadata(&path).map_err(cannot)?.len() > LONGEST {
            return Err(format!(
                "{place} has more than {LONGEST} bytes, so it is no file of queue managers"
            ));
        }
        let text = std::fs::read(&path).map_err(cannot)?;
        Self::parse(&text, place)
    }

    /// Reads the file for a program, as [`Self::load`].
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn for_program(given: &ManagersFile, program: &Path) -> Result<Self, String> {
        Self::load(given, program.parent().unwrap_or(Path::new("")))
    }

    fn parse(text: &[u8], place: String) -> Result<Self, String> {
        let mut read: Self = serde_json::from_slice(text).map_err(|error| {
            format!("{place} is no file of queue managers, as `make tables` writes it: {error}")
        })?;
        if read.managers.is_empty() {
            return Err(format!("{place} lists no queue manager"));
        }
        for manager in &read.managers {
            let fits = |queues: &FlowQueues| {
                (2..=MOST_QUEUES).contains(&queues.queues)
                    && (!queues.searched || queues.queues % 4 == 0)
            };
            if !manager.flow_queues.as_ref().is_none_or(fits) {
                return Err(format!(
                    "{place}: {} must have 2 to {MOST_QUEUES} flow queues, and a multiple of 4 if \
                     they are searched",
                    manager.name
                ));
            }
        }
        read.place = place;
        Ok(read)
    }

    /// All of them. The others are compared with the first one.
    pub fn all(&self) -> &[QueueManager] {
        &self.managers
    }

    /// The one with this name.
    ///
    /// # Errors
    /// One sentence that lists the names, if there is none.
    pub fn named(&self, name: &str) -> Result<&QueueManager, String> {
        let found = self.managers.iter().find(|manager| manager.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.managers.iter().map(|one| one.name.as_str()).collect();
            format!(
                "there is no queue manager {name:?} in {}; there are {}",
                self.place,
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<QueueManagers, String> {
        QueueManagers::parse(text.as_bytes(), "managers.json".to_owned())
    }

    const ONE: &str = r#"{"managers": [{"name": "new", "number": 10, "latency_target_us": null,
        "flow_queues": {"queues": 16, "searched": true, "round_robin": "packets"},
        "entries": [{"table": "new.parameters", "action": "set_new", "params": {"least": 3044}}],
        "registers": {"new_average": 5}}]}"#;

    #[test]
    fn a_file_tells_all_that_a_manager_gets() {
        let read = parse(ONE).unwrap();
        let new = read.named("new").unwrap();
        assert_eq!((new.number, new.latency_target_us), (10, None));
        let queues = new.flow_queues.unwrap();
        assert_eq!((queues.queues, queues.searched), (16, true));
        assert_eq!(queues.round_robin, RoundRobin::Packets);
        assert_eq!(new.entries[0].params["least"], 3044);
        assert_eq!(new.registers["new_average"], 5);
        assert_eq!(
            read.named("old").unwrap_err(),
            r#"there is no queue manager "old" in managers.json; there are new"#
        );
    }

    #[test]
    fn files_that_are_not_of_queue_managers_are_refused_by_name() {
        for (text, words) in [
            (
                "",
                "managers.json is no file of queue managers, as `make tables` writes it: EOF",
            ),
            ("[1]", "managers.json is no file of queue managers"),
            (
                r#"{"managers": []}"#,
                "managers.json lists no queue manager",
            ),
            (
                &ONE.replace("\"number\": 10", "\"number\": -1"),
                "invalid value",
            ),
            (&ONE.replace("3044", "1e30"), "invalid type"),
            (&ONE.replace("entries", "entry"), "unknown field `entry`"),
            (
                &ONE.replace("packets", "lottery"),
                "unknown variant `lottery`",
            ),
            (
                &ONE.replace("16", "257"),
                "new must have 2 to 256 flow queues",
            ),
            (
                &ONE.replace("16", "18"),
                "a multiple of 4 if they are searched",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn the_file_is_above_the_programs_unless_it_is_given() {
        let none = ManagersFile::default();
        let error = |build: &str| QueueManagers::load(&none, Path::new(build)).unwrap_err();
        assert!(error("p4/no/build").contains("file p4/no/queue_managers.json cannot be read"));
        assert!(error("").contains("file ../queue_managers.json cannot be read"));
        let given = ManagersFile {
            managers: Some("mine.json".into()),
        };
        let error = QueueManagers::load(&given, Path::new("p4src/build")).unwrap_err();
        assert!(error.contains("file mine.json cannot be read"), "{error}");
    }
}
