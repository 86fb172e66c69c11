# SPDX-License-Identifier: Apache-2.0
"""Students' P4 programs: compiled, and given packets one by one."""
