# SPDX-License-Identifier: Apache-2.0
"""A sweep as the file that it can be read from again."""

from __future__ import annotations

import io
from pathlib import Path

from ruamel.yaml import YAML

from docsis_experiments.sweeps.models import Sweep


def write(sweep: Sweep, path: Path, experiment: str) -> None:
    """Write a sweep beside its experiment.

    Args:
        sweep: What was played.
        path: Of the file.
        experiment: Name of the experiment's file in the same folder.
    """
    data = sweep.model_dump(mode="json", exclude_none=True) | {"experiment": experiment}
    data["axes"] = {key: value for key, value in data["axes"].items() if value}
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = io.StringIO()
    yaml.dump(data, text)
    path.write_text(
        "# SPDX-License-Identifier: Apache-2.0\n"
        "# As resolved for this sweep; repeat it with docsis-p4 sweep and this file.\n"
        + text.getvalue()
    )
