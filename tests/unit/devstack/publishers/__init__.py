# SPDX-License-Identifier: Apache-2.0
"""Tests of the simulated storage and network services."""
