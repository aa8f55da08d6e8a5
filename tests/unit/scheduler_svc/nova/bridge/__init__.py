# SPDX-License-Identifier: Apache-2.0
"""Tests of the bridge that reads Nova's databases."""
