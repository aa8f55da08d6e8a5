# SPDX-License-Identifier: Apache-2.0
"""Resource kinds: inventory, assignment and reporting of each kind of resource of a node."""
