# SPDX-License-Identifier: Apache-2.0
"""What rows have to be told before any run that counts, found with trial seeds as registered."""
