# SPDX-License-Identifier: Apache-2.0
"""Weighs hosts by their number of instances; a negative multiplier prefers hosts with few."""

from scheduler_svc.core.weighers import reported

WEIGHER = reported.build("NumInstancesWeigher", reported.INSTANCES)
