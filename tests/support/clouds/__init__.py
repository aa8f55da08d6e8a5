# SPDX-License-Identifier: Apache-2.0
"""Random clouds and requests, with plain oracles."""
