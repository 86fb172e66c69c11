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
        Status::new(failure.code, failure.message)
    }
}

/// The type of an update's error in a status.
const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";
/// Bytes of error messages in a status. Clients take 8 KiB of metadata unless
/// told otherwise, and lose the whole status when there is more; the count of
/// errors is fixed, so it is the words of the later ones that are left out.
const MESSAGE_BUDGET: usize = 2048;

/// The status of a batch: OK, or UNKNOWN with one `p4.v1.Error` for each
/// update or request, in their order, the good ones included.
pub fn batch_status(what: &str, results: &[Result<(), Failure>]) -> Result<(), Status> {
    let mut failures = results.iter().filter_map(|result| result.as_ref().err());
    let Some(first) = failures.next() else {
        return Ok(());
    };
    let count = 1 + failures.count();
    let total = results.len();
    let message = format!("{count} of {total} {what} failed, first: {}", first.message);
    let mut budget = MESSAGE_BUDGET;
    let details = results.iter().map(|result| {
        let error = match result {
            Ok(()) => p4::Error::default(),
            Err(failure) => {
                let fits = failure.message.len() <= budget;
                let message = if fits {
                    failure.message.clone()
                } else {
                    String::new()
                };
                budget -= message.len();
                p4::Error {
                    canonical_code: failure.code as i32,
                    message,
                    ..Default::default()
                }
            }
        };
        prost_types::Any {
            type_url: ERROR_TYPE.into(),
            value: error.encode_to_vec(),
        }
    });
    let status = rpc::Status {
        code: Code::Unknown as i32,
        message: message.clone(),
        details: details.collect(),
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
        assert!(batch_status("updates", &[Ok(()), Ok(())]).is_ok());
        let results = [Ok(()), Err(Failure::not_found("no x")), Ok(())];
        let status = batch_status("updates", &results).unwrap_err();
        assert_eq!(status.code(), Code::Unknown);
        assert_eq!(status.message(), "1 of 3 updates failed, first: no x");
        let errors = details(&status);
        let codes: Vec<_> = errors.iter().map(|error| error.canonical_code).collect();
        assert_eq!(codes, [0, Code::NotFound as i32, 0]);
        assert_eq!(errors[1].message, "no x");
    }

    #[test]
    fn many_long_messages_do_not_outgrow_the_metadata() {
        let results = vec![Err(Failure::invalid("x".repeat(100))); 60];
        let status = batch_status("updates", &results).unwrap_err();
        let errors = details(&status);
        assert_eq!(errors.len(), 60);
        assert!(errors.iter().all(|error| error.canonical_code == 3));
        assert!(!errors[0].message.is_empty() && errors[59].message.is_empty());
        // As base64 on the wire.
        assert!(status.details().len() * 4 / 3 < 8192);
    }
}
