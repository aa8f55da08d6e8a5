# SPDX-License-Identifier: Apache-2.0
"""``gantt-dashboard``: web pages for operators, based on existing RPC calls and metrics.

It is read-only unless [dashboard] actions is set, and stores no state.
"""
