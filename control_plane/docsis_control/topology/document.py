# SPDX-License-Identifier: Apache-2.0
"""A topology as the file that it can be read from again."""

from __future__ import annotations

import io
from pathlib import Path

from ruamel.yaml import YAML

from docsis_control.topology.models import Topology


def write_topology(topology: Topology, path: Path) -> None:
    """Write a topology with its tier in place, in the form in which it can be read again."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = io.StringIO()
    yaml.dump(topology.model_dump(mode="json", exclude_none=True), text)
    path.write_text(
        "# SPDX-License-Identifier: Apache-2.0\n"
        "# As resolved for this run; repeat it with --topology and this file.\n" + text.getvalue()
    )
