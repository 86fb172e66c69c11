// SPDX-License-Identifier: Apache-2.0
//! One type for all congestion controllers.

use crate::config::{Config, Congestion as Choice, LossRecovery};
use crate::cubic::Cubic;
use crate::hystart::HyStart;
use crate::ledbat::Ledbat;
use crate::reno::Reno;
use crate::window::{AckSample, Congestion, CongestionControl, Window};

#[derive(Clone, Debug)]
pub(crate) enum Controller {
    Reno(Reno),
    Cubic(Cubic),
    Ledbat(Ledbat),
}

impl Controller {
    pub(crate) fn new(config: &Config) -> Controller {
        match config.congestion {
            Choice::Reno => Controller::Reno(Reno::default()),
            Choice::Cubic => Controller::Cubic(Cubic::new(
                config.hystart.then(HyStart::default),
                config.recovery == LossRecovery::Rack,
            )),
            Choice::Ledbat => Controller::Ledbat(Ledbat::new(config)),
        }
    }

    fn get(&mut self) -> &mut dyn CongestionControl {
        match self {
            Controller::Reno(reno) => reno,
            Controller::Cubic(cubic) => cubic,
            Controller::Ledbat(ledbat) => ledbat,
        }
    }
}

impl CongestionControl for Controller {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        // A window that is not used says nothing of the path (RFC 7661 4.3).
        // CUBIC's HyStart looks at every ACK, and LEDBAT at every delay.
        if sample.limited || !matches!(self, Controller::Reno(_)) {
            self.get().on_ack(window, sample);
        }
    }

    fn on_congestion(&mut self, window: &Window, basis: u32, why: Congestion) -> u32 {
        self.get().on_congestion(window, basis, why)
    }

    fn on_idle(&mut self, idle: u64) {
        self.get().on_idle(idle);
    }
}
