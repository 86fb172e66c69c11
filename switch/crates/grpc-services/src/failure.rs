// SPDX-License-Identifier: Apache-2.0
//! Errors of single updates and requests, and of whole batches (P4Runtime
//! specification 1.5, section 10).

use prost::Message;
use tonic::{Code, Status};
use v1model::ControlError;

use crate::proto::google::rpc;
use crate::proto::p4::v1 as p4;

/// One update or request that failed, or a whole RPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The canonical code.
    pub code: Code,
    /// One sentence that names the object and the field.
    pub message: String,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Failure {
            code,
            message: message.into(),
        }
    }

    /// The memory that the failure takes in a list, bytes.
    pub fn bytes(&self) -> usize {
        /// How many bytes an allocator takes besides those that it gives.
        const ALLOCATION: usize = 16;
        size_of::<Self>() + ALLOCATION + self.message.len()
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    pub fn out_of_range(message: impl Into<String>) -> Self {
        Self::new(Code::OutOfRange, message)
    }

    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(Code::PermissionDenied, message)
    }

    pub fn unimplemented(message: impl Into<String>) -> Self {
        Self::new(Code::Unimplemented, message)
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        Failure::new(Code::from(error.code() as i32), error.to_string())
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Failure::new(status.code(), status.message())
    }
}

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        Status::new(failure.code, short(&failure.message))
    }
}

/// The type of an update's error in a status.
const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";
/// The longest message of a status, bytes. Clients take 8 KiB of metadata unless they are told
/// otherwise, and lose the whole status if there is more. Percent-encoding makes up to three bytes
/// of each byte of a message.
const MESSAGE_BYTES: usize = 512;
/// The longest status with its details, bytes. Base64 makes four thirds of it in the metadata, so
/// that a third of a KiB is left for everything else. Details beyond it are left out, and the
/// message says how many.
const STATUS_BYTES: usize = 4600;
/// How many of these bytes the errors' messages may take. The later messages are left out first.
const WORDS_BYTES: usize = 2048;
/// The bytes of a detail besides those of its error: keys, lengths and the type.
const DETAIL_BYTES: usize = 8 + ERROR_TYPE.len();

/// Shortens words so that they fit into a status's message.
fn short(words: &str) -> String {
    if words.len() <= MESSAGE_BYTES {
        return words.to_owned();
    }
    let mut end = MESSAGE_BYTES - 3;
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", &words[..end])
}

/// Makes the status of a batch: OK, or UNKNOWN with one `p4.v1.Error` for each update or request,
/// in their order and including the good ones. As many of them are included as a client's metadata
/// hold; the message says how many are left out.
pub fn batch_status<'r>(
    what: &str,
    results: impl Iterator<Item = &'r Result<(), Failure>> + Clone,
) -> Result<(), Status> {
    let failures = results.clone().enumerate();
    let failures = failures.filter_map(|(at, result)| Some((at, result.as_ref().err()?)));
    let Some(any) = failures.clone().next() else {
        return Ok(());
    };
    // If the others were undone because of one failure, that one is told first.
    let mut causes = failures
        .clone()
        .filter(|(_, failure)| failure.code != Code::Aborted);
    let (at, first) = causes.next().unwrap_or(any);
    let (count, total) = (failures.count(), results.clone().count());
    let mut room = STATUS_BYTES - 2 * MESSAGE_BYTES;
    let mut words = WORDS_BYTES;
    let mut details = Vec::new();
    for (left, result) in (1..=total).rev().zip(results) {
        // This failure's words must leave room for the codes of those that follow.
        let codes = (left * (DETAIL_BYTES + 2)).min(STATUS_BYTES / 2);
        let (code, message) = match result {
            Ok(()) => (Code::Ok, ""),
            Err(failure) => (failure.code, failure.message.as_str()),
        };
        let fits = message.len() <= words && message.len() + codes <= room;
        let message = if fits { message } else { "" };
        let error = p4::Error {
            canonical_code: code as i32,
            message: message.to_owned(),
            ..Default::default()
        };
        let value = error.encode_to_vec();
        let size = DETAIL_BYTES + value.len();
        if size > room {
            break;
        }
        room -= size;
        words -= message.len();
        details.push(prost_types::Any {
            type_url: ERROR_TYPE.into(),
            value,
        });
    }
    let left_out = match total - details.len() {
        0 => String::new(),
        more => format!(" (details of the last {more} are left out)"),
    };
    let message = short(&format!(
        "{count} of {total} {what} failed{left_out}, first number {at}: {}",
        first.message
    ));
    let status = rpc::Status {
        code: Code::Unknown as i32,
        message: message.clone(),
        details,
    };
    Err(Status::with_details(
        Code::Unknown,
        message,
        status.encode_to_vec().into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(status: &Status) -> Vec<p4::Error> {
        let status = rpc::Status::decode(status.details()).unwrap();
        let errors = status.details.iter().map(|any| {
            assert_eq!(any.type_url, "type.googleapis.com/p4.v1.Error");
            p4::Error::decode(any.value.as_slice()).unwrap()
        });
        errors.collect()
    }

    #[test]
    fn a_batch_reports_each_update_in_order() {
        assert!(batch_status("updates", [Ok(()), Ok(())].iter()).is_ok());
        let results = [Ok(()), Err(Failure::not_found("no x")), Ok(())];
        let status = batch_status("updates", results.iter()).unwrap_err();
        assert_eq!(status.code(), Code::Unknown);
        assert_eq!(
            status.message(),
            "1 of 3 updates failed, first number 1: no x"
        );
        let errors = details(&status);
        let codes: Vec<_> = errors.iter().map(|error| error.canonical_code).collect();
        assert_eq!(codes, [0, Code::NotFound as i32, 0]);
        assert_eq!(errors[1].message, "no x");
    }

    #[test]
    fn many_long_messages_do_not_outgrow_the_metadata() {
        let results = vec![Err(Failure::invalid("x".repeat(100))); 60];
        let status = batch_status("updates", results.iter()).unwrap_err();
        let errors = details(&status);
        assert_eq!(errors.len(), 60);
        assert!(errors.iter().all(|error| error.canonical_code == 3));
        assert!(!errors[0].message.is_empty() && errors[59].message.is_empty());
        // As base64 on the wire.
        assert!(status.details().len() * 4 / 3 < 8192);
    }

    /// How many bytes a status takes in HTTP/2's metadata.
    fn metadata(status: &Status) -> usize {
        let message = status.message().bytes();
        let encoded = |byte: u8| {
            if (0x20..0x7f).contains(&byte) && byte != b'%' {
                1
            } else {
                3
            }
        };
        let message: usize = message.map(encoded).sum();
        // What HTTP/2 charges for a field beside its name and value is 32.
        let names = [
            "grpc-status",
            "grpc-message",
            "grpc-status-details-bin",
            "content-type",
        ];
        let names: usize = names.iter().map(|name| name.len() + 32).sum();
        message + status.details().len().div_ceil(3) * 4 + names + 40
    }

    #[test]
    fn a_status_fits_a_clients_metadata_whatever_failed() {
        let words = [
            "",
            "x",
            &"ü".repeat(100),
            &"%".repeat(3000),
            &"w".repeat(1 << 20),
        ];
        for count in [1, 2, 60, 104, 105, 1000, 131_072] {
            for words in words {
                for only_last in [false, true] {
                    if count * words.len() > 64 << 20 {
                        continue;
                    }
                    let failure = Err(Failure::invalid(words));
                    let mut results = vec![failure.clone(); count];
                    if only_last {
                        results = vec![Ok(()); count];
                        results[count - 1] = failure;
                    }
                    let status = batch_status("updates", results.iter()).unwrap_err();
                    let size = metadata(&status);
                    assert!(size <= 8192, "{count} of {} bytes: {size}", words.len());
                    let errors = details(&status);
                    let left_out = count - errors.len();
                    let said = format!("details of the last {left_out} are left out");
                    assert_eq!(left_out > 0, status.message().contains(&said));
                    assert!(count > 64 || left_out == 0, "{count}: {left_out}");
                }
            }
        }
        let status = Status::from(Failure::invalid("%".repeat(1 << 20)));
        assert!(metadata(&status) < 8192);
    }
}
