# SPDX-License-Identifier: Apache-2.0
"""Benchmark of calls over the bus: ``lab.sh rpc``."""
