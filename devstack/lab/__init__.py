# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: the command ``gantt-lab``; each sub-command measures against a baseline in the same run."""
