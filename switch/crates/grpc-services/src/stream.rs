// SPDX-License-Identifier: Apache-2.0
//! One StreamChannel: arbitration, packet-outs, and what the server sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, watch};
use tonic::{Code, Status, Streaming};

use crate::arbitration::ClientId;
use crate::failure::Failure;
use crate::journal::{Answer, Journal, MaybeJournal, Waiting, encoded};
use crate::outbound::ClientLink;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::stream_error::Details;
use crate::proto::p4::v1::stream_message_request::Update;
use crate::role;
use crate::target::Target;
use crate::targets::Targets;

/// How long the last status of a stream waits for a client that does not read.
const FAREWELL: Duration = Duration::from_secs(1);

static NEXT_CLIENT: AtomicU64 = AtomicU64::new(1);

/// A stream's state; its device and role are known after the first arbitration.
pub struct Session {
    id: ClientId,
    link: ClientLink,
    /// The journal that writes down the client's messages, and the stream's number in it.
    journal: Option<(Arc<dyn Journal>, u64)>,
    place: Option<(Arc<Target>, String)>,
}

/// Serves one stream until either side ends it.
pub async fn serve(
    targets: Arc<Targets>,
    mut inbound: Streaming<p4::StreamMessageRequest>,
    mut session: Session,
    mut shutdown: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    let link = session.link.clone();
    let status = loop {
        tokio::select! {
            () = link.closed() => break None,
            () = ended(&mut shutdown) => {
                break Some(Status::unavailable("the switch is shutting down"));
            }
            () = link.evicted() => {
                break Some(Status::resource_exhausted(
                    "the client does not read its stream",
                ));
            }
            message = inbound.message() => match message {
                Ok(Some(message)) => {
                    if let Err(failure) = session.receive(&targets, message).await {
                        break Some(failure.into());
                    }
                }
                // There is no room for a message, or it did not arrive in time.
                Err(status)
                    if matches!(
                        status.code(),
                        Code::ResourceExhausted | Code::DeadlineExceeded
                    ) =>
                {
                    break Some(status);
                }
                Ok(None) | Err(_) => break None,
            }
        }
    };
    session.end();
    if let Some(status) = status {
        link.farewell(status, FAREWELL).await;
    }
}

/// Ready when the server ends.
async fn ended(shutdown: &mut watch::Receiver<bool>) {
    // An error means the same: the server is gone.
    let _ = shutdown.wait_for(|&ended| ended).await;
}

impl Session {
    /// The state of a stream on which the client has not sent anything yet.
    pub fn new(link: ClientLink, journal: MaybeJournal) -> Self {
        Session {
            id: ClientId(NEXT_CLIENT.fetch_add(1, Ordering::Relaxed)),
            link,
            journal: journal.map(|journal| {
                let stream = journal.stream_opened();
                (journal, stream)
            }),
            place: None,
        }
    }

    /// Ends the stream of a client that has gone.
    pub fn end(&mut self) {
        if let Some((target, role)) = self.place.take() {
            target.disconnect(self.id, &role);
        }
        if let Some((journal, stream)) = self.journal.take() {
            journal.stream_ended(stream);
        }
    }

    /// Handles a message of the client.
    ///
    /// # Errors
    /// The status that ends the stream.
    pub async fn receive(
        &mut self,
        targets: &Targets,
        message: p4::StreamMessageRequest,
    ) -> Result<(), Failure> {
        let Some((journal, stream)) = &self.journal else {
            return self.hear(targets, message).await;
        };
        let waiting = Waiting::said(journal, *stream, &encoded(&message));
        let result = waiting.run(self.hear(targets, message)).await;
        let mut answer = Answer::default();
        if let Err(failure) = &result {
            answer.add(failure.message.as_bytes());
        }
        waiting.answered(&answer);
        result
    }

    async fn hear(
        &mut self,
        targets: &Targets,
        message: p4::StreamMessageRequest,
    ) -> Result<(), Failure> {
        match message.update {
            Some(Update::Arbitration(update)) => self.arbitrate(targets, &update).await?,
            Some(Update::Packet(packet)) => {
                if let Err(failure) = self.packet_out(&packet).await {
                    let packet_out = Some(packet);
                    self.report(
                        failure,
                        Details::PacketOut(p4::PacketOutError { packet_out }),
                    );
                }
            }
            Some(Update::DigestAck(ack)) => {
                if let Err(failure) = self.acknowledge(&ack).await {
                    let digest_list_ack = Some(ack);
                    self.report(
                        failure,
                        Details::DigestListAck(p4::DigestListAckError { digest_list_ack }),
                    );
                }
            }
            Some(Update::Other(other)) => self.report(
                Failure::unimplemented(format!("messages of type {} are unknown", other.type_url)),
                Details::Other(p4::StreamOtherError { other: Some(other) }),
            ),
            None => self.report(
                Failure::invalid("the message's update is unset"),
                Details::Other(p4::StreamOtherError { other: None }),
            ),
        }
        Ok(())
    }

    async fn arbitrate(
        &mut self,
        targets: &Targets,
        update: &p4::MasterArbitrationUpdate,
    ) -> Result<(), Failure> {
        let target = match &self.place {
            Some((target, _)) => Arc::clone(target),
            None => Arc::clone(targets.find(update.device_id)?),
        };
        let role = self.place.as_ref().map(|(_, role)| role.as_str());
        target.arbitrate(self.id, &self.link, role, update).await?;
        if self.place.is_none() {
            let (name, _) = role::named(update)?;
            self.place = Some((target, name.to_owned()));
        }
        Ok(())
    }

    async fn packet_out(&self, packet: &p4::PacketOut) -> Result<(), Failure> {
        let Some((target, role)) = &self.place else {
            return Err(Failure::denied(
                "a packet-out came before the stream's first MasterArbitrationUpdate",
            ));
        };
        target.packet_out(self.id, role, packet).await
    }

    async fn acknowledge(&self, ack: &p4::DigestListAck) -> Result<(), Failure> {
        let Some((target, role)) = &self.place else {
            return Err(Failure::denied(
                "a digest_ack came before the stream's first MasterArbitrationUpdate",
            ));
        };
        target.acknowledge(self.id, role, ack).await
    }

    fn report(&self, failure: Failure, details: Details) {
        let error = p4::StreamError {
            canonical_code: failure.code as i32,
            message: failure.message,
            details: Some(details),
            ..Default::default()
        };
        self.link.error(error);
    }
}
