# SPDX-License-Identifier: Apache-2.0
"""Weighs hosts by their running builds and moves; with a negative multiplier, idle hosts are preferred."""

from scheduler_svc.core.weighers import reported

WEIGHER = reported.build("IoOpsWeigher", reported.IO_OPS, floor=0.0)
