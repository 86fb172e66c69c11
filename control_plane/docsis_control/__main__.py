# SPDX-License-Identifier: Apache-2.0
"""python -m docsis_control: the controller."""

import sys

from docsis_control.app import main

sys.exit(main())
