# SPDX-License-Identifier: Apache-2.0
"""The queue manager of docs/how-to/queue-manager.md, added as that page says and nowhere else.

The page's code goes into a copy of the project, whose packages other processes of Python import.
What p4c makes of the copy's cm.p4 is in data/step_manager, with the hashes of its sources; where
p4c is, a test makes it again. After a change of P4 sources:

    python experiments/tests/test_add_a_queue_manager.py
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest
from markdown_it import MarkdownIt

from docsis_testbed import p4build, switch_report
from docsis_testbed.paths import ROOT

PAGE: Final = ROOT / "docs" / "how-to" / "queue-manager.md"
FOLDERS: Final = ("cli", "control_plane", "experiments", "labs", "mininet")
CODE: Final = re.compile(r'<!-- code: (?P<file>\S+?)(?:, behind "(?P<anchor>.*)")? -->')

COMPILED: Final = Path(__file__).parent / "data" / "step_manager"
PROGRAM: Final = "cm"
OUTPUTS: Final = (f"{PROGRAM}.json", f"{PROGRAM}.p4info.txtpb")

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

UPLOADED: Final = """
import json, sys
from pathlib import Path
from docsis_control.plan import Role
from docsis_control.queue_managers.document import from_argument
from docsis_control.topology.loader import load_topology
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.play import playing
from docsis_testbed.paths import TOPOLOGIES

topology = load_topology(TOPOLOGIES / "residential.yaml")
with playing(
    topology, from_argument(sys.argv[1]), seed=3, machine=EXACT, folder=Path(sys.argv[2]),
    progress=lambda phase, seconds: None,
) as play:
    client, server = topology.hosts[0].name, topology.servers[0].name
    play.world.tcp_transfer(client, server, 5001, start_ns=play.at(0), stop_ns=play.at(8))
    play.run_until("uploading", 8)
    print(json.dumps(play.counters(topology.cable_modem, Role.CABLE_MODEM)))
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


def _register(folder: Path) -> None:
    """Writes the copy's names.py, as `make tables` does."""
    module = "docsis_control.queue_managers.registration"
    _python(folder, "-m", module, str(folder / "p4src" / "include" / "queue_managers.p4"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the page's queue manager."""
    folder = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("tests", "__pycache__", "results")
    for name in (*FOLDERS, "p4src", "topologies", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    _add(folder)
    _register(folder)
    build = folder / "p4src" / "build"
    (build / OUTPUTS[0]).write_bytes(gzip.decompress((COMPILED / f"{OUTPUTS[0]}.gz").read_bytes()))
    shutil.copyfile(COMPILED / OUTPUTS[1], build / OUTPUTS[1])
    return folder


def _sources(p4src: Path) -> dict[str, str]:
    """The hashes of what the program is compiled of."""
    files = [p4src / f"{PROGRAM}.p4", *sorted((p4src / "include").glob("*.p4"))]
    return p4build.hashes(files, p4src)


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


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


def test_the_page_has_a_file_of_each_kind_and_one_that_registers() -> None:
    changed = {name for name, anchor, _ in _blocks() if anchor is not None}
    assert changed == {"p4src/include/queue_managers.p4"}
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


def test_the_benchmark_measures_it(project: Path) -> None:
    """Its list is written anew, and the switch that is built needs nothing else."""
    p4src = project / "p4src"
    module = "docsis_control.queue_managers.benchmarks"
    _python(project, "-m", module, str(p4src / "queue_managers.json"))
    report = switch_report.run(
        *("bench", "managers", "--program", str(p4src / "build" / OUTPUTS[0]), "--json"),
        *("--packets", "2000", "--repetitions", "1"),
    )
    measured = [row["queue_manager"] for row in report["results"]]
    assert measured[0] == "drop-tail"
    assert "step" in measured


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


def test_the_compiled_program_is_that_of_the_page(project: Path, tmp_path: Path) -> None:
    manifest: dict[str, Any] = json.loads((COMPILED / "manifest.json").read_text())
    again = f"with p4c on PATH run: python {Path(__file__).relative_to(ROOT)}"
    assert _sources(project / "p4src") == manifest["sources_sha256"], again
    made = {name: project / "p4src" / "build" / name for name in OUTPUTS}
    compiler = p4build.find_compiler()
    if compiler is not None and compiler.version == manifest["p4c"]:
        p4build.compile_programs(compiler, tmp_path, project / "p4src", [PROGRAM])
        made = {name: tmp_path / name for name in OUTPUTS}
    for name, file in made.items():
        assert _digest(file.read_bytes()) == manifest["outputs_sha256"][name], again


def _upload(project: Path, folder: Path, **values: object) -> dict[str, int]:
    """Packets by what became of them, of an upload of eight seconds under the step."""
    folder.mkdir()
    file = folder / "step.yaml"
    file.write_text("\n".join(["algorithm: step", *(f"{k}: {v}" for k, v in values.items())]))
    counted: dict[str, int] = json.loads(_python(project, "-c", UPLOADED, str(file), str(folder)))
    return counted


def test_it_drops_while_the_queue_is_above_its_threshold(project: Path, tmp_path: Path) -> None:
    dropping = _upload(project, tmp_path / "dropping", threshold="20 ms", probability=0.02)
    # The upload goes above the threshold, and by its drops below it again.
    assert 0 < dropping["sf_drop_aqm"] < 0.02 * dropping["sf_received"]
    never = _upload(project, tmp_path / "never", threshold="10 s", probability=1)
    assert never["sf_drop_aqm"] == 0
    assert never["sf_forwarded"] > 0


def compile_again() -> None:
    """Writes data/step_manager anew, with the p4c on PATH."""
    compiler = p4build.find_compiler()
    if compiler is None:
        sys.exit("no P4 compiler: neither p4c-bm2-ss nor p4c is on PATH")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        ignored = shutil.ignore_patterns("tests", "__pycache__")
        for name in ("control_plane", "p4src"):
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        _add(folder)
        out = folder / "out"
        out.mkdir()
        p4build.compile_programs(compiler, out, folder / "p4src", [PROGRAM])
        made = {name: (out / name).read_bytes() for name in OUTPUTS}
        COMPILED.mkdir(parents=True, exist_ok=True)
        (COMPILED / f"{OUTPUTS[0]}.gz").write_bytes(gzip.compress(made[OUTPUTS[0]], 9, mtime=0))
        (COMPILED / OUTPUTS[1]).write_bytes(made[OUTPUTS[1]])
        manifest = {
            "p4c": compiler.version,
            "sources_sha256": _sources(folder / "p4src"),
            "outputs_sha256": {name: _digest(text) for name, text in made.items()},
        }
        (COMPILED / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


if __name__ == "__main__":
    compile_again()
