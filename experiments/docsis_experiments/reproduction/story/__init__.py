# SPDX-License-Identifier: Apache-2.0
"""The five papers for a reader who has ten minutes: what holds, what does not, a picture each.

The text is `story.md.j2`, written by hand. Its numbers come from a results.json, and each of its
statements names the row that it rests on with the outcomes under which it is true, so that a story
that results have overtaken is refused instead of published.

    python -m docsis_experiments.reproduction.story docs/results
"""
