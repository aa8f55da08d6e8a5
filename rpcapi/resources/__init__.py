# SPDX-License-Identifier: Apache-2.0
"""Resource arithmetic shared by scheduler and agent."""
