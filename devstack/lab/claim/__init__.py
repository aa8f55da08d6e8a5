# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the claim script: ``lab.sh claim``."""
