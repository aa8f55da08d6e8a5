# SPDX-License-Identifier: Apache-2.0
"""Who sends a message, and which methods that sender may call."""
