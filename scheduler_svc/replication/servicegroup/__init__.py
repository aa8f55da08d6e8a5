# SPDX-License-Identifier: Apache-2.0
"""Liveness of services, read from a group of a coordination service."""
