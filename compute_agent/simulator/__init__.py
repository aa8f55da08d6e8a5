# SPDX-License-Identifier: Apache-2.0
"""Simulated hypervisor and hosts."""
