# SPDX-License-Identifier: Apache-2.0
"""Builds of a release's parts from a checkout; not part of the wheel."""
