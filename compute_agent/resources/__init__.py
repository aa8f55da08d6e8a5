# SPDX-License-Identifier: Apache-2.0
"""Resources of nodes: inventories and their use."""
