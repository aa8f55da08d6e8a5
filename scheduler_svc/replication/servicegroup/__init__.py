# SPDX-License-Identifier: Apache-2.0
"""Liveness of services from a coordination service's group."""
