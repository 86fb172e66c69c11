// SPDX-License-Identifier: Apache-2.0
//! Files that a process writes are its own: no name leads it elsewhere.

use crate::common::{Folder, WIRE, refusal};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A folder with a file that nobody is to write to.
struct Trap {
    folder: Folder,
    file: PathBuf,
}

const KEPT: &[u8] = b"somebody else's";

impl Trap {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let file = folder.file("kept");
        std::fs::write(&file, KEPT).unwrap();
        Self { folder, file }
    }

    /// A link to the file under this name.
    fn link(&self, name: &str) -> String {
        let link = self.folder.file(name);
        symlink(&self.file, &link).unwrap();
        link.display().to_string()
    }
}

#[test]
fn no_option_follows_a_link() {
    let trap = Trap::new("links");
    let joined = ["--no-p4", "--rf-link", "1:1,2:1"];
    let folder = trap.folder.0.display().to_string();
    for name in ["rf-1-1_in.pcap", "rf-2-1_out.pcap"] {
        let link = trap.link(name);
        let said = refusal(&[&joined[..], &["--pcap", &folder]].concat());
        assert!(
            said.contains("symbolic link") && said.contains(name),
            "{said}"
        );
        std::fs::remove_file(link).unwrap();
    }
    let link = trap.link("link");
    let (channel, device) = (format!("us1={link}"), format!("1={link}"));
    for options in [["--channel-pcap", &channel], ["--device-trace", &device]] {
        let said = refusal(&[&joined[..], &options].concat());
        assert!(said.contains("symbolic link"), "{options:?}: {said}");
    }
    for option in ["--trace", "--record", "--log-file"] {
        let said = refusal(&[WIRE, option, &link]);
        assert!(said.contains("symbolic link"), "{option}: {said}");
    }
    assert_eq!(std::fs::read(&trap.file).unwrap(), KEPT);
}
