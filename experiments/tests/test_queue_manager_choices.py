# SPDX-License-Identifier: Apache-2.0
"""Queue managers by name: on command lines, in figures, on the way to the controller."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from command_line import docsis_p4

from docsis_control.law.law import Law, Unmanaged
from docsis_control.queue_managers.document import changed, from_argument
from docsis_control.queue_managers.managers.drop_tail import DropTail
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_experiments.experiment.demo import demo
from docsis_experiments.reports.plots.look import STYLES
from docsis_testbed import preflight
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT
from docsis_testbed.session import controller_argument


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2), 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_preset_has_a_look_of_its_own() -> None:
    assert set(STYLES) == set(Preset)
    for one, other in itertools.combinations(STYLES.values(), 2):
        assert (one.colour, one.line) != (other.colour, other.line), f"{one}, {other}"
    for style in STYLES.values():
        # To be seen on white.
        assert 1.05 / (luminance(style.colour) + 0.05) > 2


def test_the_demo_is_what_it_was() -> None:
    assert [run.managed.management for run in demo().scenario.all_runs] == [
        PRESETS[preset]
        for preset in (Preset.DROP_TAIL_250MS, Preset.BUFFER_CONTROL_50MS, Preset.DOCSIS_PIE)
    ]


def test_a_figure_finds_the_look_of_a_summarys_run() -> None:
    """The page goes by what the queue manager is called, so no two may be called the same."""
    assert len({preset.label for preset in Preset}) == len(Preset)


def test_the_makefile_takes_any_preset() -> None:
    (default,) = re.findall(r"^AQM \?= (\S+)$", (ROOT / "Makefile").read_text(), re.M)
    assert default in list(Preset)


@pytest.mark.parametrize("command", [("demo",), ("run",), ("sf", "manage"), ("controller",)])
def test_command_lines_list_the_presets(command: tuple[str, ...]) -> None:
    # However the lines are broken, at hyphens too.
    text = "".join(docsis_p4(*command, "--help").stdout.split())
    for preset in Preset:
        assert preset.value in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pie", "target=0ms"), "pie: target: the target must be whole microseconds"),
        (("pie", "tarjet=5ms"), 'pie: tarjet: unknown key; did you mean "target"?'),
        (("sfq-search", "flow_queues.queues=10"), "10 queues are no multiple of 4"),
        (("docsis-pie", "flow_queues.queues=16"), "flow_queues: do not go with docsis-pie"),
        (("codel", "algorithm=pie"), "algorithm: cannot be changed"),
        (("codel", "5ms"), '"5ms" is not KEY=VALUE'),
    ],
)
def test_sf_manage_says_what_is_wrong(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    result = docsis_p4(
        "sf", "manage", "cm1", "upstream", "1", *words, "--status-folder", str(tmp_path)
    )
    assert result.returncode == 1
    assert sentence in result.stderr


def test_run_names_what_is_wrong_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pie.yaml"
    file.write_text("algorithm: pie\ntarget: 0 ms\n")
    for option in ("--aqm", "--downstream-aqm"):
        result = docsis_p4("run", option, str(file))
        assert result.returncode == 1
        assert f"{option}: {file}:2: target: the target must be" in result.stderr
        result = docsis_p4("run", option, "fq-codel")
        assert f'{option}: there is no queue manager "fq-codel"' in result.stderr


@pytest.mark.parametrize("command", ["demo", "run"])
def test_bmv2_has_no_flow_queues(command: str) -> None:
    result = docsis_p4(command, "--target", "bmv2", "--aqm", "sfq-codel")
    assert result.returncode == 1
    assert result.stderr.startswith(
        "docsis-p4: queue manager sfq-codel: the target bmv2 has no flow queues: its eight queues"
    )


def test_what_bmv2_can_do_is_not_refused() -> None:
    preflight.check_queue_managers("bmv2", Preset.LRED, Preset.CODEL_DT, None)
    preflight.check_queue_managers("embedded", Preset.SFQ)
    with pytest.raises(TestbedError, match="queue manager drop-tail: the target bmv2"):
        preflight.check_queue_managers(
            "bmv2", changed(PRESETS[Preset.SFQ], {"flow_queues": {"queues": 9}})
        )


def test_registers_of_a_law_s_own_are_refused_on_bmv2() -> None:
    class Alone(Unmanaged):
        own = ("sf_granted_bytes", "red_count")

    class LoneDropTail(DropTail):
        def law(self, granted: bool) -> type[Law]:
            return Alone

    preflight.check_queue_managers("embedded", LoneDropTail())
    with pytest.raises(TestbedError, match=r"drop-tail: the target bmv2 .* sf_granted_bytes, red"):
        preflight.check_queue_managers("bmv2", LoneDropTail())


def test_the_controller_is_told_by_name_or_by_file(tmp_path: Path) -> None:
    file = tmp_path / "upstream-aqm.yaml"
    assert controller_argument(Preset.SFQ_PIE, file) == "sfq-pie"
    assert controller_argument(PRESETS[Preset.SFQ_PIE], file) == "sfq-pie"
    assert not file.exists()
    other = changed(PRESETS[Preset.SFQ_PIE], {"target": "7 ms"})
    assert controller_argument(other, file) == str(file)
    assert from_argument(str(file)) == other


def test_the_controller_names_what_is_wrong_in_a_file(tmp_path: Path) -> None:
    topology = str(ROOT / "topologies" / "residential.yaml")
    file = tmp_path / "pie.yaml"
    file.write_text("algorithm: pie\ntarget: 0 ms\n")
    for option in ("--aqm", "--downstream-aqm"):
        result = docsis_p4("controller", "--topology", topology, option, str(file))
        assert result.returncode == 2
        assert f"{option}: {file}:2: target: the target must be" in result.stderr
        result = docsis_p4("controller", "--topology", topology, option, "fq-codel")
        assert 'there is no queue manager "fq-codel"; there are drop-tail,' in result.stderr
