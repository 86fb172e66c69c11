# SPDX-License-Identifier: Apache-2.0
"""What an operator sees: the controller's status as one document, and how others get it."""

from docsis_control.status.client import StatusError, fetch, find_controllers
from docsis_control.status.model import Status, json_schema

__all__ = ["Status", "StatusError", "fetch", "find_controllers", "json_schema"]
