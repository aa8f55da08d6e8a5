# SPDX-License-Identifier: Apache-2.0
"""Benchmark of drains and evacuations: ``lab.sh moves``."""
