# SPDX-License-Identifier: Apache-2.0
"""The published results, reproduced: registered rules, what each needs, and what follows."""
