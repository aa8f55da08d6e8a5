# SPDX-License-Identifier: Apache-2.0
"""Composition of a scheduler worker: builds its parts from the configuration, and passes them plain values."""
