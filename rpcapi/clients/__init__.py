# SPDX-License-Identifier: Apache-2.0
"""RPC clients of gantt's services."""
