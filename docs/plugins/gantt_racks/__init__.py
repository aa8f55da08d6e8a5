# SPDX-License-Identifier: Apache-2.0
"""Example plugins of gantt; docs/plugins.md describes them."""
