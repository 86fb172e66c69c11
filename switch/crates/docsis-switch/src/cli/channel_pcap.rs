// SPDX-License-Identifier: Apache-2.0
//! `--channel-pcap CHANNEL=FILE`.

use crate::spool::Spools;
use clap::Args;
use plant::CaptureFile;
use std::path::PathBuf;

/// The longest name of a channel in docsis.mac.v1, bytes.
const LONGEST_NAME: usize = 64;

/// A channel with the file for its frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelPcapArg {
    /// The channel's name.
    pub channel: String,
    /// The file.
    pub file: PathBuf,
}

/// Options of capturing channels.
#[derive(Debug, Clone, Args)]
pub struct ChannelPcapArgs {
    /// Capture what crosses an upstream channel, when there is one of that name: MAPs, requests and
    /// bursts, of link type 143. With --rf-link; may be repeated.
    #[arg(long, value_name = "CHANNEL=FILE", value_parser = parse, requires = "rf_link")]
    pub channel_pcap: Vec<ChannelPcapArg>,
    /// Each of these captures ends at so many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64, requires = "channel_pcap",
          value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub channel_pcap_limit: u64,
}

impl ChannelPcapArgs {
    /// Creates the files, by their channels' names. Their times, nanoseconds since 1970, are `ahead`
    /// of the devices'.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn open(
        &self,
        ahead: u64,
        spools: &mut Spools,
    ) -> Result<Vec<(String, CaptureFile)>, String> {
        let open = |ChannelPcapArg { channel, file }: &ChannelPcapArg| {
            let name = format!("the capture {} of channel {channel}", file.display());
            let spool = spools.create(name.clone(), file)?;
            let most = self.channel_pcap_limit.saturating_mul(1 << 20);
            let file = CaptureFile::new(Box::new(spool), most, ahead)
                .map_err(|error| format!("{name} cannot be written: {error}"))?;
            Ok((channel.clone(), file))
        };
        self.channel_pcap.iter().map(open).collect()
    }
}

/// # Errors
/// What is wrong with `text`.
fn parse(text: &str) -> Result<ChannelPcapArg, String> {
    let parts = text.split_once('=');
    let parts = parts.filter(|(channel, file)| !channel.is_empty() && !file.is_empty());
    let (channel, file) =
        parts.ok_or_else(|| format!("`{text}` is not CHANNEL=FILE, as in us1=us1.pcap"))?;
    if channel.len() > LONGEST_NAME {
        return Err(format!(
            "a channel's name has at most {LONGEST_NAME} bytes, not {}",
            channel.len()
        ));
    }
    Ok(ChannelPcapArg {
        channel: channel.to_owned(),
        file: file.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_channel_and_a_file() {
        let one = parse("us1=/tmp/a=b.pcap").unwrap();
        assert_eq!(
            (&*one.channel, &*one.file),
            ("us1", "/tmp/a=b.pcap".as_ref())
        );
        for text in [
            "",
            "us1",
            "us1=",
            "=file",
            &format!("{}=file", "x".repeat(65)),
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
