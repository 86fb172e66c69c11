# SPDX-License-Identifier: Apache-2.0
"""Access to the service flows' state in the pipeline: registers, or a control header."""

from docsis_control.state.access import StateAccess
from docsis_control.state.probe import probe_state_access

__all__ = ["StateAccess", "probe_state_access"]
