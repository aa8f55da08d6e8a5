# SPDX-License-Identifier: Apache-2.0
"""RPC endpoints of the conductor: decode, one domain call, encode."""
