# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of a modem's configuration file and of service classes."""

from typing import Any

from docsis_control.config.schema import DIALECT
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.service_classes import ServiceClasses


def json_schemas() -> dict[str, dict[str, Any]]:
    """The schemas by file kind: "modem" and "service-classes" (JSON Schema 2020-12)."""
    return {
        "modem": {"$schema": DIALECT, **ModemConfiguration.model_json_schema()},
        "service-classes": {"$schema": DIALECT, **ServiceClasses.model_json_schema()},
    }
