# SPDX-License-Identifier: Apache-2.0
"""Results as other systems read them."""
