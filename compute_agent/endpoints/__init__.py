# SPDX-License-Identifier: Apache-2.0
"""RPC endpoint of the agent."""
