# SPDX-License-Identifier: Apache-2.0
"""Compute agent: sole owner of the guests on a service host's nodes."""
