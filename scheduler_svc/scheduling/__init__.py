# SPDX-License-Identifier: Apache-2.0
"""Scheduling decisions: selection of hosts, and claims on them."""
