# SPDX-License-Identifier: Apache-2.0
"""Conductors on fakes of the scheduler and of hosts."""
