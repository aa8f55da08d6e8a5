# SPDX-License-Identifier: Apache-2.0
"""Liveness of services: by heartbeats in the store, or by a group of a coordination service."""
