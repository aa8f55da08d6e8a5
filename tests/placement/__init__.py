# SPDX-License-Identifier: Apache-2.0
"""Placement's own gabbi suite, over HTTP against a running gantt-placement."""
