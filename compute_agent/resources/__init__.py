# SPDX-License-Identifier: Apache-2.0
"""What a node has, and what of it is in use."""
