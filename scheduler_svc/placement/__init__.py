# SPDX-License-Identifier: Apache-2.0
"""Placement: model, HTTP API, migration from and to another Placement, and shadow of another Placement."""
