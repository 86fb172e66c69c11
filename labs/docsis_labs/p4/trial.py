# SPDX-License-Identifier: Apache-2.0
"""A trial compilation, which shows whether the p4c of this machine makes programs to grade."""

from __future__ import annotations

from typing import Final

from docsis_labs.errors import SubmissionError
from docsis_labs.p4.compiling import compiled
from docsis_labs.p4.program import Program
from docsis_labs.sandbox.sandbox import Sandbox
from docsis_testbed.p4build import Compiler

WALL_SECONDS: Final = 20.0
"""Time for the trial. p4c needs less than a second of it where nothing else computes."""

NAME: Final = "trial.p4"

SOURCE: Final = """\
#include <core.p4>
#include <v1model.p4>

struct headers_t { }
struct metadata_t { }

parser TrialParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start { transition accept; }
}

control TrialIngress(inout headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    apply { standard_metadata.egress_spec = standard_metadata.ingress_port; }
}

control TrialEgress(inout headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) { apply { } }

control TrialChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TrialDeparser(packet_out packet, in headers_t hdr) { apply { } }

V1Switch(TrialParser(), TrialChecksum(), TrialIngress(), TrialEgress(), TrialChecksum(),
         TrialDeparser()) main;
"""
"""The smallest v1model program: it includes both files that every exercise includes."""


def why_not(compiler: Compiler, sandbox: Sandbox) -> str | None:
    """The reason why a compiler cannot be used for grading; None where it can.

    The compiler gets the limits that it has for a student's program, and the switch loads what it
    made.

    Args:
        compiler: The compiler to try.
        sandbox: Where it runs.
    """
    try:
        program = compiled(compiler, NAME, SOURCE, sandbox, wall_seconds=WALL_SECONDS)
        _load(program)
    except SubmissionError as error:
        return error.missed.hint.rstrip(".")
    return None


def _load(program: Program) -> None:
    """Loads a program into the switch, where virtual time is built.

    Raises:
        SubmissionError: The switch refuses it.
    """
    try:
        from docsis_labs.p4.packet_device import PacketDevice
    except ImportError:
        # `lab doctor` tells this by itself.
        return
    PacketDevice(program)
