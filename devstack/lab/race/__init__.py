# SPDX-License-Identifier: Apache-2.0
"""Benchmark of concurrent scheduler workers: ``lab.sh race``."""
