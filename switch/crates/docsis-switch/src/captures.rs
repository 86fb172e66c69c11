// SPDX-License-Identifier: Apache-2.0
//! `--pcap`: the frames of a port in two files, which threads of their own write.

use crate::spool::{Spool, Spools};
use pcap::{Capture, LINKTYPE_ETHERNET};
use std::io::ErrorKind;
use std::path::Path;
use tracing::error;

/// The captures of one port.
pub struct PortCaptures {
    /// Captures what comes in, until its file cannot be written.
    incoming: Option<Capture<Spool>>,
    /// Captures what goes out, likewise.
    outgoing: Option<Capture<Spool>>,
}

impl PortCaptures {
    /// Creates DIRECTORY/NAME_in.pcap and NAME_out.pcap.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn create(directory: &Path, name: &str, spools: &mut Spools) -> Result<Self, String> {
        Self::with(|direction| {
            let path = directory.join(format!("{name}_{direction}.pcap"));
            let title = format!("the capture {}", path.display());
            let spool = spools.create(title.clone(), &path)?;
            Ok((title, spool))
        })
    }

    /// Captures into what `create` makes, with its title, for the directions "in" and "out".
    ///
    /// # Errors
    /// Those of `create`; one sentence that names the title.
    pub fn with(
        mut create: impl FnMut(&str) -> Result<(String, Spool), String>,
    ) -> Result<Self, String> {
        let mut begin = |direction: &str| {
            let (title, spool) = create(direction)?;
            Capture::new(spool, LINKTYPE_ETHERNET)
                .map_err(|error| format!("{title} cannot be written: {error}"))
        };
        Ok(Self {
            incoming: Some(begin("in")?),
            outgoing: Some(begin("out")?),
        })
    }

    /// Adds a frame; `wall_ns` is nanoseconds since 1970. Whoever forwards does not wait: where the
    /// disk does not keep up the frame is left out, and the spool says at the end how many were.
    pub fn note(&mut self, wall_ns: u64, frame: &[u8], leaves: bool) {
        let side = if leaves {
            &mut self.outgoing
        } else {
            &mut self.incoming
        };
        let written = side.as_mut().map(|capture| capture.write(wall_ns, frame));
        if let Some(Err(error)) = written
            && error.kind() != ErrorKind::WouldBlock
        {
            *side = None;
            error!("a capture ends: its file cannot be written: {error}");
        }
    }
}
