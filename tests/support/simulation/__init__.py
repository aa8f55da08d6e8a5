# SPDX-License-Identifier: Apache-2.0
"""State machines of claims and of moves, with faults, oracles and kept examples."""
