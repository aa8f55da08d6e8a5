# SPDX-License-Identifier: Apache-2.0
"""An agent without a bus or a machine, and its peers."""
