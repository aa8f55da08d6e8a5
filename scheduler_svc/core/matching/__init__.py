# SPDX-License-Identifier: Apache-2.0
"""Interface of filters, and comparisons that several filters share."""
