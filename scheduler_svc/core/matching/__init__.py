# SPDX-License-Identifier: Apache-2.0
"""Filter interface, and comparisons that several filters share."""
