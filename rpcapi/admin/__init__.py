# SPDX-License-Identifier: Apache-2.0
"""What operators do to a cluster by RPC; the base of the commands and of the dashboard."""
