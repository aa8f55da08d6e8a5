# SPDX-License-Identifier: Apache-2.0
"""What filters are made of: their interface, and the comparisons that several share."""
