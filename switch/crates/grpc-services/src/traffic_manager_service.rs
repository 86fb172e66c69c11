// SPDX-License-Identifier: Apache-2.0
//! The gRPC service docsis.tm.v1.TrafficManager.

use device::{
    AckSuppression, ConfigError, Configuration, Framing, ModelKind, PacketQueueChange,
    PacketQueueState, PortConfig, PortState, QueueId, RoundRobin, ServiceFlowConfig,
    ServiceFlowState, Traffic,
};
use tonic::{Request, Response, Status};

use crate::failure::Failure;
use crate::journal;
use crate::journal::encoded;
use crate::proto::docsis::tm::v1 as tm;
use crate::proto::docsis::tm::v1::traffic_manager_server::TrafficManager;
use crate::service::{Service, method};

#[tonic::async_trait]
impl TrafficManager for Service {
    async fn configure(
        &self,
        request: Request<tm::ConfigureRequest>,
    ) -> Result<Response<tm::ConfigureResponse>, Status> {
        let request = request.into_inner();
        let configure = async {
            let target = self.targets.find(request.device_id)?;
            let configuration = configuration(&request)?;
            target
                .call(move |device, now| device.configure(now, &configuration))
                .await?
                .map_err(|error| match error {
                    ConfigError::Invalid(words) => Status::invalid_argument(words),
                    ConfigError::OtherModel(words) => Status::failed_precondition(words),
                })?;
            Ok(Response::new(tm::ConfigureResponse {}))
        };
        let (journal, message, encode) = (&self.journal, || encoded(&request), encoded);
        journal::unary(journal, method::CONFIGURE, message, encode, configure).await
    }

    async fn get(
        &self,
        request: Request<tm::GetRequest>,
    ) -> Result<Response<tm::GetResponse>, Status> {
        let request = request.into_inner();
        let get = async {
            let target = self.targets.find(request.device_id)?;
            let (model, state) = target
                .look(|device, now| {
                    let model = device.config().traffic_manager;
                    (model, device.traffic_manager_state(now))
                })
                .await?;
            let model = match model {
                ModelKind::Docsis => tm::Model::Docsis,
                ModelKind::Bmv2 { .. } => tm::Model::Bmv2,
            };
            Ok(Response::new(tm::GetResponse {
                now_ns: state.now_ns,
                ports: state.ports.iter().map(port_state).collect(),
                service_flows: state.service_flows.iter().map(service_flow_state).collect(),
                model: model.into(),
                packet_queues: state.packet_queues.iter().map(packet_queue_state).collect(),
            }))
        };
        let (journal, message, encode) = (&self.journal, || encoded(&request), encoded);
        journal::unary(journal, method::GET, message, encode, get).await
    }

    async fn get_lateness(
        &self,
        request: Request<tm::GetLatenessRequest>,
    ) -> Result<Response<tm::GetLatenessResponse>, Status> {
        let target = self.targets.find(request.into_inner().device_id)?;
        let (now_ns, lateness) = target
            .call(|device, now| (now, device.lateness().clone()))
            .await?;
        let bucket = |(upto_ns, count)| tm::LatenessBucket { upto_ns, count };
        Ok(Response::new(tm::GetLatenessResponse {
            now_ns,
            buckets: lateness.buckets().map(bucket).collect(),
            most_ns: lateness.most(),
            bound_ns: lateness.bound(),
            jumps: lateness.jumps(),
            jumped_ns: lateness.jumped(),
        }))
    }
}

fn configuration(request: &tm::ConfigureRequest) -> Result<Configuration, Failure> {
    let ports = request.ports.iter().map(port_config);
    let service_flows = request.service_flows.iter().map(service_flow_config);
    let removed = request.removed.iter().map(queue_id);
    let packet_queues = request.packet_queues.iter().map(packet_queue_change);
    Ok(Configuration {
        ports: ports.collect::<Result<_, Failure>>()?,
        service_flows: service_flows.collect::<Result<_, Failure>>()?,
        removed: removed.collect::<Result<_, Failure>>()?,
        packet_queues: packet_queues.collect::<Result<_, Failure>>()?,
    })
}

fn port(number: u32) -> Result<u16, Failure> {
    u16::try_from(number)
        .map_err(|_| Failure::invalid(format!("port {number} is not within 0 to 65535")))
}

fn queue_id(queue: &tm::QueueId) -> Result<QueueId, Failure> {
    Ok(QueueId {
        port: port(queue.port)?,
        queue_id: queue.queue_id,
    })
}

fn port_config(config: &tm::PortConfig) -> Result<PortConfig, Failure> {
    Ok(PortConfig {
        port: port(config.port)?,
        rate: config.rate,
        receive_delay_ns: config.receive_delay_ns,
        transmit_delay_ns: config.transmit_delay_ns,
        receive_jitter_ns: config.receive_jitter_ns,
        transmit_jitter_ns: config.transmit_jitter_ns,
        receive_loss_ppm: config.receive_loss_ppm,
        transmit_loss_ppm: config.transmit_loss_ppm,
        delay_limit: config.delay_limit,
        queue_limit: config.queue_limit,
        burst: config.burst,
        framing: config
            .framing
            .map_or(Framing::default(), |framing| Framing {
                packet: framing.packet,
                header: framing.header,
                frame_header: framing.frame_header,
                own_packets: framing.own_packets,
            }),
        loop_back: config.loop_back,
    })
}

fn service_flow_config(config: &tm::ServiceFlowConfig) -> Result<ServiceFlowConfig, Failure> {
    let queue = config
        .queue
        .as_ref()
        .ok_or_else(|| Failure::invalid("service_flows.queue is unset"))?;
    let queue = queue_id(queue)?;
    let traffic_priority = u8::try_from(config.traffic_priority).map_err(|_| {
        Failure::invalid(format!(
            "port {} queue {}: traffic_priority is {}, more than 7",
            queue.port, queue.queue_id, config.traffic_priority
        ))
    })?;
    Ok(ServiceFlowConfig {
        queue,
        max_sustained_rate: config.max_sustained_rate,
        max_burst: config.max_burst,
        peak_rate: config.peak_rate,
        initial_tokens: config.initial_tokens,
        queue_limit: config.queue_limit,
        traffic_priority,
        min_reserved_rate: config.min_reserved_rate,
        assumed_packet_size: config.assumed_packet_size,
        sub_queues: config.sub_queues,
        round_robin: round_robin(queue, config.round_robin)?,
        ack_suppression: ack_suppression(queue, config.ack_suppression)?,
    })
}

fn round_robin(queue: QueueId, number: i32) -> Result<RoundRobin, Failure> {
    match tm::RoundRobin::try_from(number) {
        Ok(tm::RoundRobin::Unspecified) => Ok(RoundRobin::Deficit),
        Ok(tm::RoundRobin::Packets) => Ok(RoundRobin::Packets),
        Err(_) => Err(Failure::invalid(format!(
            "port {} queue {}: round_robin is {number}, which is none of the enum's values",
            queue.port, queue.queue_id
        ))),
    }
}

fn ack_suppression(queue: QueueId, number: i32) -> Result<AckSuppression, Failure> {
    match tm::AckSuppression::try_from(number) {
        Ok(tm::AckSuppression::Unspecified) => Ok(AckSuppression::Off),
        Ok(tm::AckSuppression::Always) => Ok(AckSuppression::Always),
        Ok(tm::AckSuppression::Safe) => Ok(AckSuppression::Safe),
        Err(_) => Err(Failure::invalid(format!(
            "port {} queue {}: ack_suppression is {number}, which is none of the enum's values",
            queue.port, queue.queue_id
        ))),
    }
}

fn packet_queue_change(change: &tm::PacketQueueChange) -> Result<PacketQueueChange, Failure> {
    let priority = |priority: u32| {
        u8::try_from(priority).map_err(|_| {
            Failure::invalid(format!(
                "packet_queues.priority {priority} is not within 0 to 255"
            ))
        })
    };
    Ok(PacketQueueChange {
        port: change.port.map(port).transpose()?,
        priority: change.priority.map(priority).transpose()?,
        depth: change.depth,
        rate: change.rate,
    })
}

fn traffic(traffic: Traffic) -> Option<tm::Traffic> {
    Some(tm::Traffic {
        frames: traffic.frames,
        bytes: traffic.bytes,
    })
}

fn port_state(state: &PortState) -> tm::PortState {
    let config = &state.config;
    tm::PortState {
        config: Some(tm::PortConfig {
            port: u32::from(config.port),
            rate: config.rate,
            receive_delay_ns: config.receive_delay_ns,
            transmit_delay_ns: config.transmit_delay_ns,
            receive_jitter_ns: config.receive_jitter_ns,
            transmit_jitter_ns: config.transmit_jitter_ns,
            receive_loss_ppm: config.receive_loss_ppm,
            transmit_loss_ppm: config.transmit_loss_ppm,
            delay_limit: config.delay_limit,
            queue_limit: config.queue_limit,
            burst: config.burst,
            framing: (config.framing != Framing::default()).then_some(tm::Framing {
                packet: config.framing.packet,
                header: config.framing.header,
                frame_header: config.framing.frame_header,
                own_packets: config.framing.own_packets,
            }),
            loop_back: config.loop_back,
        }),
        received: traffic(state.received),
        sent: traffic(state.sent),
        receive_overflow: traffic(state.receive_overflow),
        transmit_overflow: traffic(state.transmit_overflow),
        receive_lost: traffic(state.receive_lost),
        transmit_lost: traffic(state.transmit_lost),
        send_failed: traffic(state.send_failed),
        queue_overflow: traffic(state.queue_overflow),
        queued: traffic(state.queued),
    }
}

fn service_flow_state(state: &ServiceFlowState) -> tm::ServiceFlowState {
    let config = &state.config;
    tm::ServiceFlowState {
        config: Some(tm::ServiceFlowConfig {
            queue: Some(tm::QueueId {
                port: u32::from(config.queue.port),
                queue_id: config.queue.queue_id,
            }),
            max_sustained_rate: config.max_sustained_rate,
            max_burst: config.max_burst,
            peak_rate: config.peak_rate,
            initial_tokens: config.initial_tokens,
            queue_limit: config.queue_limit,
            traffic_priority: u32::from(config.traffic_priority),
            min_reserved_rate: config.min_reserved_rate,
            assumed_packet_size: config.assumed_packet_size,
            sub_queues: config.sub_queues,
            round_robin: match config.round_robin {
                RoundRobin::Deficit => tm::RoundRobin::Unspecified,
                RoundRobin::Packets => tm::RoundRobin::Packets,
            }
            .into(),
            ack_suppression: match config.ack_suppression {
                AckSuppression::Off => tm::AckSuppression::Unspecified,
                AckSuppression::Always => tm::AckSuppression::Always,
                AckSuppression::Safe => tm::AckSuppression::Safe,
            }
            .into(),
        }),
        enqueued: traffic(state.enqueued),
        dequeued: traffic(state.dequeued),
        overflow: traffic(state.overflow),
        egress_dropped: traffic(state.egress_dropped),
        flushed: traffic(state.flushed),
        queued: traffic(state.queued),
        reserved: traffic(state.reserved),
        delayed: traffic(state.delayed),
        suppressed: traffic(state.suppressed),
        sustained_tokens: state.sustained_tokens,
        peak_tokens: state.peak_tokens,
    }
}

fn packet_queue_state(state: &PacketQueueState) -> tm::PacketQueueState {
    let config = &state.config;
    tm::PacketQueueState {
        port: u32::from(config.queue.port),
        priority: config.queue.queue_id,
        depth: config.depth,
        rate: config.rate,
        enqueued: traffic(state.enqueued),
        dequeued: traffic(state.dequeued),
        overflow: traffic(state.overflow),
        egress_dropped: traffic(state.egress_dropped),
        flushed: traffic(state.flushed),
        queued: traffic(state.queued),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(round_robin: i32) -> tm::ServiceFlowConfig {
        tm::ServiceFlowConfig {
            queue: Some(tm::QueueId {
                port: 1,
                queue_id: 2,
            }),
            sub_queues: 8,
            round_robin,
            ..Default::default()
        }
    }

    #[test]
    fn a_port_that_loops_back_is_told_as_it_was_configured() {
        for loop_back in [false, true] {
            let message = tm::PortConfig {
                port: 5,
                loop_back,
                ..Default::default()
            };
            let Ok(config) = port_config(&message) else {
                panic!("it was refused");
            };
            let state = port_state(&PortState {
                config,
                ..Default::default()
            });
            assert_eq!(state.config, Some(message));
        }
    }

    #[test]
    fn how_sub_queues_take_turns_is_told_as_it_was_configured() {
        for (number, expected) in [(0, RoundRobin::Deficit), (1, RoundRobin::Packets)] {
            let Ok(config) = service_flow_config(&message(number)) else {
                panic!("{number} was refused");
            };
            assert_eq!(config.round_robin, expected);
            let state = service_flow_state(&ServiceFlowState {
                config,
                ..Default::default()
            });
            assert_eq!(state.config.unwrap().round_robin, number);
        }
        assert!(service_flow_config(&message(2)).is_err());
    }
}
