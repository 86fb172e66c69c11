# SPDX-License-Identifier: Apache-2.0
"""One switch with a student's program, and hosts at its ports, in Mininet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from docsis_labs.exercise import RunContext
    from docsis_labs.p4.program import Program

TOPOLOGY: Final = "topology.yaml"


def run(context: RunContext, program: Program) -> None:
    """Builds what the folder's topology.yaml says, and hands over until the user leaves.

    Raises:
        SubmissionError: The program is not as the topology needs it.
        TestbedError: The topology, the machine or a program is not as it has to be. Nothing is
            left behind.
    """
    from docsis_labs.switch_network.building import play
    from docsis_labs.switch_network.model import load

    play(load(context.folder / TOPOLOGY), program, context.console)
