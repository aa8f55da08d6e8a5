# SPDX-License-Identifier: Apache-2.0
"""Benchmark of replicas that follow a log: ``lab.sh sync``."""
