# SPDX-License-Identifier: Apache-2.0
"""The HTTP proxy in front of another Placement."""
