#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rustc that lints what it compiles; cargo calls it for the workspace's own crates.

    clippy-rustc.py RUSTC ARGUMENT...

No shell script, because dash forgets variables that have a hyphen: CARGO_BIN_EXE_docsis-switch.
"""

import os
import sys

os.execvp("clippy-driver", ["clippy-driver", *sys.argv[1:], "-D", "warnings"])
