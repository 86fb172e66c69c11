# SPDX-License-Identifier: Apache-2.0
"""The queue manager of docs/how-to/queue-manager.md, added as that page says and nowhere else.

The page's code goes into a copy of the project, whose packages other processes of Python import.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from markdown_it import MarkdownIt

from docsis_testbed.paths import ROOT

PAGE: Final = ROOT / "docs" / "how-to" / "queue-manager.md"
FOLDERS: Final = ("cli", "control_plane", "experiments", "labs", "mininet")
CODE: Final = re.compile(r'<!-- code: (?P<file>\S+?)(?:, behind "(?P<anchor>.*)")? -->')

REGISTERED: Final = """
import json
from docsis_control.queue_managers.document import json_schema
from docsis_experiments.experiment.schema import json_schema as scenario_schema
from docsis_experiments.reports.plots.look import STYLES

print(json.dumps({
    "looks": [(style.colour, style.line) for style in STYLES.values()],
    "presets": list(STYLES),
    "file": list(json_schema()["$defs"]["Step"]["properties"]),
    "scenario": list(scenario_schema()["$defs"]["Step"]["properties"]),
}))
"""

PROVISIONED: Final = """
import json
import numpy as np
from docsis_control.law.readings import Readings
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.plan import Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.state.access import owns
from docsis_control.topology.loader import load_topology
from docsis_testbed.paths import TOPOLOGIES

deployment = deploy(load_topology(TOPOLOGIES / "residential.yaml"), Preset.STEP)
device = deployment.device(Role.CABLE_MODEM)
(flow,) = device.service_flows
law = DeviceLaw([flow])

def decided(tick, backlog, frames):
    given = {name: np.zeros(1, np.int64) for name in Readings._fields[1:-1]}
    given["enqueued_bytes"] = np.array([backlog])
    seen = Readings(1000 + 16_000 * tick, **given, own={"step_arrivals": np.array([frames])})
    settings, _ = law.update(seen, tick)
    return int(settings.drop_prob[0])

second = flow.max_sustained_rate // 8
print(json.dumps({
    "entries": {
        entry.table: [entry.action, dict(entry.params)]
        for entry in device.tables
        if entry.table.endswith(("step.parameters", "service_flow_queue.service_flow"))
    },
    "owns": owns(flow),
    "decided": [decided(1, second, 5), decided(2, 0, 9), decided(3, second, 9),
                decided(4, second, 10)],
}))
"""

REFUSED: Final = """
from docsis_control.config.models import KeyedError
from docsis_control.queue_managers.document import from_mapping

for values in ({"probability": 2}, {"threshold": "0 ms"}, {"spared": 101}, {"flow_queues": {}}):
    try:
        from_mapping({"algorithm": "step", **values})
    except KeyedError as error:
        print(f"{error.key}: {error}")
"""


def _blocks() -> list[tuple[str, str | None, str]]:
    """The page's code: the file, the beginning of the line behind which it goes, and the text."""
    found = []
    mark = None
    for token in MarkdownIt("commonmark").parse(PAGE.read_text("utf-8")):
        if mark is not None:
            assert token.type == "fence", f"no code follows {mark[0]}"
            found.append((mark["file"], mark["anchor"], token.content))
        mark = CODE.fullmatch(token.content.strip()) if token.type == "html_block" else None
    return found


def _add(folder: Path) -> None:
    """Adds what the page says to a copy of the project."""
    for name, anchor, code in _blocks():
        file = folder / name
        if anchor is None:
            assert not file.exists(), f"{name} is there already"
            file.write_text(code, "utf-8")
            continue
        lines = file.read_text("utf-8").splitlines(keepends=True)
        places = [number for number, line in enumerate(lines, 1) if line.startswith(anchor)]
        assert len(places) == 1, f"{len(places)} lines of {name} begin with {anchor}"
        lines.insert(places[0], code)
        file.write_text("".join(lines), "utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the page's queue manager."""
    folder = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("tests", "__pycache__", "results")
    for name in (*FOLDERS, "p4src", "topologies", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    _add(folder)
    return folder


def _python(project: Path, *arguments: str) -> str:
    """What Python prints with the copy's packages before those that are installed."""
    ended = subprocess.run(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(project / name) for name in FOLDERS),
            "COLUMNS": "200",
        },
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _said(project: Path, program: str) -> Any:
    return json.loads(_python(project, "-c", program))


def test_the_page_has_a_file_of_each_kind() -> None:
    new = [name for name, anchor, _ in _blocks() if anchor is None]
    assert new == [
        "p4src/include/step.p4",
        "control_plane/docsis_control/queue_managers/managers/step.py",
        "control_plane/docsis_control/law/step.py",
    ]


def test_it_is_everywhere_without_being_listed_there(project: Path) -> None:
    command = ("-c", "import docsis_cli; docsis_cli.main()")
    listed = _python(project, *command, "list", "queue-managers")
    assert re.search(r"^ +step +Step, 2% above 20 ms$", listed, re.MULTILINE)
    said = _said(project, REGISTERED)
    assert "step" in said["presets"]
    looks = [tuple(look) for look in said["looks"]]
    assert len(set(looks)) == len(looks) == len(said["presets"])
    for keys in (said["file"], said["scenario"]):
        assert {"threshold", "probability", "spared", "buffer"} <= set(keys)


def test_the_documentation_s_tables_have_it(project: Path) -> None:
    pages = ("docs/queue-managers.md", "docs/p4-contract.md")
    _python(project, "-m", "docsis_control.queue_managers.tables", *pages)
    presets, numbers = ((project / page).read_text("utf-8") for page in pages)
    assert "| `step` | a fixed probability above a threshold" in presets
    assert "| 10 | step | at the tail (`step.p4`), each frame for itself |" in numbers


def test_what_the_pipeline_gets_and_what_the_law_decides(project: Path) -> None:
    said = _said(project, PROVISIONED)
    assert said["entries"]["FrameIngress.step.parameters"] == ["set_step", {"spared": 2 * 1522}]
    _, queue = said["entries"]["FrameIngress.service_flow_queue.service_flow"]
    assert queue["queue_manager"] == 10
    assert said["owns"] == ["step_arrivals"]
    # A second of the sustained rate waits; then nothing; then it waits and no frame comes.
    on = round(0.02 * (1 << 28))
    assert said["decided"] == [on, 0, 0, on]


def test_what_it_refuses(project: Path) -> None:
    probability, threshold, spared, queues = _python(project, "-c", REFUSED).splitlines()
    assert probability == "probability: a probability must be from 0 to 1, not 2"
    assert threshold.startswith("threshold: the threshold must be whole microseconds from 1 us")
    assert spared == "spared: the number of spared frames must be from 0 to 100, not 101"
    assert queues.startswith("flow_queues: do not go with step: it tells the wait")
