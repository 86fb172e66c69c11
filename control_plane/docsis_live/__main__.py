# SPDX-License-Identifier: Apache-2.0
"""Runs the live page: python -m docsis_live."""

import sys

from docsis_live.app import main

sys.exit(main())
