# SPDX-License-Identifier: Apache-2.0
"""Scheduler service: sole owner of host state and claims. It selects hosts, but sends them no commands."""
