# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts with more free memory; with a negative multiplier, with less."""

from os_resource_classes import MEMORY_MB

from scheduler_svc.core.weighers import free_amounts

WEIGHER = free_amounts.build("RAMWeigher", MEMORY_MB)
