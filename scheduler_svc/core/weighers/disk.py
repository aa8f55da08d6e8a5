# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts with more free disk; with a negative multiplier, with less."""

from os_resource_classes import DISK_GB

from scheduler_svc.core.weighers import free_amounts

WEIGHER = free_amounts.build("DiskWeigher", DISK_GB)
