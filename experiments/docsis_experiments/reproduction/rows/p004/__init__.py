# SPDX-License-Identifier: Apache-2.0
"""The rows of paper 004, "The Impact of the DOCSIS 1.1/2.0 MAC Protocol on TCP" (2005).

One TCP on an idle channel; collisions, utilisation and response times of 100 to 500 modems; and
what the text says beside them.
"""
