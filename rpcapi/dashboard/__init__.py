# SPDX-License-Identifier: Apache-2.0
"""``gantt-dashboard``: pages of a deployment for operators, over the RPC and metrics that there are.

It only reads, unless [dashboard] actions is set, and holds no state of its own.
"""
