# SPDX-License-Identifier: Apache-2.0
"""What peers may call of the agent."""
