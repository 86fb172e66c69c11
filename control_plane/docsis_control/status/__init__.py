# SPDX-License-Identifier: Apache-2.0
"""The controller's status as one document for operators, and the ways to get it."""

from docsis_control.status.client import StatusError, fetch, find_controllers
from docsis_control.status.model import Status, json_schema

__all__ = ["Status", "StatusError", "fetch", "find_controllers", "json_schema"]
