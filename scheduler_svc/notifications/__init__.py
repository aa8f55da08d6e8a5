# SPDX-License-Identifier: Apache-2.0
"""Changes of host state as oslo.messaging notifications, for whoever else wants to follow."""
