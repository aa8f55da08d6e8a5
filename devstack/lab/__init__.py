# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of ``devstack/lab.sh``, one per sub-command; each measures against a baseline in the same run."""
