# SPDX-License-Identifier: Apache-2.0
"""Who tells which services live: their own signs of life in the store, or a group at a coordination service."""
