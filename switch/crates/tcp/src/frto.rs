// SPDX-License-Identifier: Apache-2.0
//! F-RTO: whether a timeout was spurious (RFC 5682 3, with SACK).

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Frto {
    /// Conventional recovery.
    #[default]
    Off,
    /// Step 1: the first segment was sent again.
    Retransmitted,
    /// Step 2b: new data may be sent, before anything else is sent again.
    NewData,
}

/// What an ACK after the timeout says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Nothing yet.
    Open,
    /// The timeout was spurious.
    Spurious,
}

impl Frto {
    /// An ACK arrives. `advanced`: it acknowledges new data; `all`: up to the
    /// recovery point; `original`: it acknowledges or SACKs data below the
    /// recovery point that was sent once.
    pub(crate) fn on_ack(&mut self, advanced: bool, all: bool, original: bool) -> Answer {
        if *self == Frto::Off {
            return Answer::Open;
        }
        // Step 3b: data that was not sent again has arrived.
        if original {
            *self = Frto::Off;
            return Answer::Spurious;
        }
        // Steps 2a, 3a: duplicate ACKs and ACKs of everything.
        *self = match self {
            Frto::Retransmitted if advanced && !all => Frto::NewData,
            _ => Frto::Off,
        };
        Answer::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5682 3.1 step 2b: an ACK of the first segment, then new data; step
    /// 3b: an ACK of data sent once.
    #[test]
    fn spurious() {
        let mut frto = Frto::Retransmitted;
        assert_eq!(frto.on_ack(true, false, false), Answer::Open);
        assert_eq!(frto, Frto::NewData);
        assert_eq!(frto.on_ack(true, false, true), Answer::Spurious);
    }

    /// RFC 5682 3.1 step 2a and 3a: a duplicate ACK means that it was not.
    #[test]
    fn conventional() {
        let mut frto = Frto::Retransmitted;
        frto.on_ack(false, false, false);
        assert_eq!(frto, Frto::Off);
        let mut frto = Frto::NewData;
        frto.on_ack(false, false, false);
        assert_eq!(frto, Frto::Off);
        let mut frto = Frto::Retransmitted;
        frto.on_ack(true, true, false);
        assert_eq!(frto, Frto::Off);
    }
}
