# SPDX-License-Identifier: Apache-2.0
"""Mutants: small mechanical changes of the sources, of which the tests have to catch nearly all.

Which changes there are is a list (`listing`), which of them are made is a draw by seed (`draw`),
and how each is tried is the runner's business. docs/explanation/mutants.md has the rule.
"""
