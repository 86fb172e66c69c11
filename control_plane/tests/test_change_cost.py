# SPDX-License-Identifier: Apache-2.0
"""A change of one service flow costs what its modem needs, however many other modems there are."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, TypeVar

from channel_homes import TOPOLOGIES

from docsis_control.dynamic.change import Action, Change, Kind, changed
from docsis_control.dynamic.device_change import DeviceChange
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import Deployment, Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology import load_topology

_Result = TypeVar("_Result")

ADDED = Change(
    Action.ADD,
    Kind.UPSTREAM_SERVICE_FLOW,
    values={"service_flow_reference": 9, "maximum_sustained_traffic_rate": "2 Mbps"},
)
NAME = "home3"


def homes(count: int, folder: Path) -> Deployment:
    text = (TOPOLOGIES / "neighbourhood.yaml").read_text()
    assert text.count("count: 64, configuration: modems/") == 1
    text = text.replace("count: 64, configuration: ", f"count: {count}, configuration: ")
    text = text.replace("modems/", f"{TOPOLOGIES / 'modems'}/")
    file = folder / f"{count}.yaml"
    file.write_text(text)
    return deploy(load_topology(file), Preset.DOCSIS_PIE)


def with_added(before: Deployment) -> Deployment:
    configurations = {plan.name: plan.configuration for plan in before.modems}
    configurations[NAME] = changed(configurations[NAME], [ADDED])
    return deploy(before.topology, before.upstream, changed=configurations, before=before)


def steps(work: Callable[[], _Result]) -> tuple[int, _Result]:
    """Calls of Python functions, generators' turns among them, that a piece of work takes."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return count, result


def test_a_change_is_derived_from_its_modem_alone(
    tmp_path: Path, pipelines: dict[str, Pipeline]
) -> None:
    taken = {}
    for count in (8, 64):
        before = homes(count, tmp_path)

        def work(before: Deployment = before) -> tuple[Deployment, Any]:
            after = with_added(before)
            old, new = before.device(Role.CABLE_MODEM), after.device(Role.CABLE_MODEM)
            assert new != old
            nobody: Any = None
            # What is asked for is the way to registers alone.
            access: Any = SimpleNamespace(name="registers")
            pipeline = pipelines["cm"]
            return after, DeviceChange(old, new, nobody, pipeline, access, traffic_manager=False)

        # What is worked out once and kept, such as the P4Info's names.
        work()
        taken[count], (after, change) = steps(work)
        assert [flow.reference for flow in change._new] == [9]
        assert not change._changed
        touched = [key for key, part in after.parts.items() if part is not before.parts.get(key)]
        assert touched == [(3, "upstream"), (3, "downstream")]
        # All that there was, and what was added.
        flows = after.device(Role.CABLE_MODEM).service_flows
        assert [flow.index for flow in flows] == list(range(1, 4 * count + 2))
        assert set(before.device(Role.CABLE_MODEM).service_flows) < set(flows)
    # A few steps for each other modem, where it had some hundred; a service flow alone has dozens.
    assert taken[64] - taken[8] < 10 * (64 - 8), taken


def test_what_is_added_and_deleted_leaves_nothing_behind(tmp_path: Path) -> None:
    before = homes(8, tmp_path)
    after = with_added(before)
    configurations = {plan.name: plan.configuration for plan in after.modems}
    gone = Change(Action.DELETE, Kind.UPSTREAM_SERVICE_FLOW, 9)
    configurations[NAME] = changed(configurations[NAME], [gone])
    back = deploy(before.topology, before.upstream, changed=configurations, before=after)
    for role in Role:
        assert back.device(role) == before.device(role)
    assert (back.numbers.indexes, back.numbers.sfids) == (
        before.numbers.indexes,
        before.numbers.sfids,
    )
    assert back.numbers.next_sfid == before.numbers.next_sfid + 1
