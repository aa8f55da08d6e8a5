# SPDX-License-Identifier: Apache-2.0
"""``gantt-dashboard``: stateless web pages for operators, read-only unless [dashboard] actions is set."""
