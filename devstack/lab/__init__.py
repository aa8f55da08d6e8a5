# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: the sub-commands of ``devstack/lab.sh``; each measures against a baseline in the same run."""
