# SPDX-License-Identifier: Apache-2.0
"""Drop tail: the buffer's limit alone, in one queue or in many."""

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from docsis_control.queue_managers.management import Described, QueueManagement
from docsis_control.queue_managers.names import Preset


class DropTail(QueueManagement):
    """No early drops: a frame is dropped when the buffer has no room for it."""

    title: ClassVar[str] = "drop tail"
    decides: ClassVar[str] = "nobody"
    state: ClassVar[str] = ""

    algorithm: Literal["drop-tail"] = "drop-tail"


MODEL: Final = DropTail

PRESETS: Final[Mapping[Preset, Described]] = {
    Preset.DROP_TAIL: Described(
        DropTail(),
        label="Drop tail",
        colour="vermilion",
        line=":",
        what="no early drops, the flow's own buffer",
        parameters="",
        source="",
    ),
    # 000, section 4.1.
    Preset.DROP_TAIL_250MS: Described(
        DropTail.model_validate({"buffer": "250 ms"}),
        label="Drop tail, 250 ms",
        colour="vermilion",
        line="-",
        what="the same with an oversized buffer",
        parameters="buffer 250 ms at the sustained rate",
        source="White 2014, 4.1.1",
    ),
    Preset.BUFFER_CONTROL_50MS: Described(
        DropTail.model_validate({"buffer": "50 ms"}),
        label="Buffer Control, 50 ms",
        colour="blue",
        line="--",
        what="the same with DOCSIS Buffer Control",
        parameters="buffer 50 ms",
        source="White 2014, 4.1.2",
    ),
    # 002: as many queues as its DRR has, and a part of the buffer each.
    Preset.DRR: Described(
        DropTail.model_validate({"flow_queues": {"queues": 16, "divided": True}}),
        label="DRR, 16 queues",
        colour="black",
        line=":",
        what="deficit round robin",
        parameters="16 queues, a 16th of the buffer each",
        source="Martin 2014",
    ),
    # 001, figures 5 and 9.
    Preset.SFQ: Described(
        DropTail.model_validate({"flow_queues": {"queues": 256}}),
        label="SFQ, 256 queues",
        colour="black",
        line="-",
        what="stochastic fairness queueing",
        parameters="256 queues",
        source="Cloonan 2013, figure 5",
    ),
    Preset.SFQ_SEARCH: Described(
        DropTail.model_validate({"flow_queues": {"queues": 256, "search": True}}),
        label="SFQ, 256 queues, serial search",
        colour="black",
        line="--",
        what="the same, a session looks for a free queue of four",
        parameters="256 queues",
        source="Cloonan 2013, figure 9",
    ),
}
"""The presets by name."""
