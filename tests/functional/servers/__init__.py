# SPDX-License-Identifier: Apache-2.0
"""Tests of private servers: start, kill, restart with data, clean-up."""
