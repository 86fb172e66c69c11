# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: results/<time>-<topology>/.

    summary.json           the figures, in the shape of summary.schema.json
    report.html            the same for people; opens offline
    details.json           times, traffic, every upload and every counter
    inputs/topology.yaml   topology and tier as resolved: the run can be repeated from it
    plots/                 the report's figures
    runs/<queue manager>/  raw samples as CSV, what every program said, the controller's record
"""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path

from docsis_control.config.models import Topology
from ruamel.yaml import YAML

from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS


def create(topology: Topology, results: Path = RESULTS) -> Path:
    """Make the folder of a new run, named by the time.

    Raises:
        TestbedError: it cannot be made.
    """
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = results / f"{stamp}-{topology.name}"
    try:
        folder.mkdir(parents=True)
        (folder / "inputs").mkdir()
        (folder / "plots").mkdir()
    except FileExistsError:
        raise TestbedError(f"{folder}: exists already; try again in a second") from None
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be made ({error.strerror})") from None
    return folder


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
