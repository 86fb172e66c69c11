// SPDX-License-Identifier: Apache-2.0
//! `docsis-switch ctl trace`: follows the packets of a running switch.

use crate::cli::FollowArgs;
use grpc_services::proto::docsis::switch::v1 as switch;
use grpc_services::proto::docsis::switch::v1::switch_client::SwitchClient;
use std::io::Write;
use tonic::transport::Channel;

/// Prints what happens to packets until the switch ends, or the packets that
/// were asked for are told of, or nobody reads standard output any more. What
/// was passed over is told on standard error.
///
/// # Errors
/// What the switch said.
pub async fn follow(
    client: &mut SwitchClient<Channel>,
    args: &FollowArgs,
    json: bool,
) -> Result<(), tonic::Status> {
    let format = match json {
        true => switch::TraceFormat::Json,
        false => switch::TraceFormat::Text,
    };
    let request = switch::TraceRequest {
        device_id: args.device_id,
        format: format.into(),
        ports: args.port.iter().map(|port| u32::from(*port)).collect(),
        packets: args.count,
        rate: args.rate,
    };
    let mut stream = client.trace(request).await?.into_inner();
    let mut begun = false;
    while let Some(message) = stream.message().await? {
        if !begun {
            begun = true;
            eprintln!("docsis-switch: tracing");
        }
        if message.skipped_packets > 0 {
            eprintln!(
                "docsis-switch: {} packets were passed over: too many in a second (--rate), or \
                 too many for the reader",
                message.skipped_packets
            );
        }
        if message.lost_lines > 0 {
            eprintln!(
                "docsis-switch: {} lines of the trace were lost: the reader is too slow",
                message.lost_lines
            );
        }
        let mut output = std::io::stdout().lock();
        let written = output.write_all(message.text.as_bytes());
        if written.and_then(|()| output.flush()).is_err() {
            // As in `ctl trace | head`.
            return Ok(());
        }
    }
    Ok(())
}
