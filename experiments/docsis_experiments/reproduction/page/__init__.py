# SPDX-License-Identifier: Apache-2.0
"""The page of what was reproduced, made of results.json alone.

drawing.py   a figure as a picture
html.py      the page
values.py    what the template is given, in words
"""
