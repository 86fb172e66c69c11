# SPDX-License-Identifier: Apache-2.0
"""An experiment, or what is made of one, as the file that it can be read from again."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from docsis_experiments.experiment.loader import RECORDED
from docsis_experiments.experiment.models import Scenario

SCENARIO_FILE: Final = f"{RECORDED}.yaml"
"""Name of the scenario in a run's inputs, beside topology.yaml."""


def write_scenario(scenario: Scenario, path: Path) -> None:
    """Write a scenario beside its topology, in the form in which it can be read again."""
    data = scenario.model_dump(mode="json", exclude_none=True)
    # The tier is in the topology's record.
    data.pop("tier", None)
    data["topology"] = "topology.yaml"
    write_yaml(path, data, "run", "run")


def write_yaml(path: Path, data: Mapping[str, Any], what: str, command: str) -> None:
    """Write what was resolved.

    Args:
        path: Path of the file.
        data: Its content, for YAML.
        what: It was resolved for.
        command: Command of docsis-p4, which repeats it.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = io.StringIO()
    yaml.dump(data, text)
    path.write_text(
        "# SPDX-License-Identifier: Apache-2.0\n"
        f"# As resolved for this {what}; repeat it with docsis-p4 {command} and this file.\n"
        + text.getvalue()
    )
