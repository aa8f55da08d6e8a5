# SPDX-License-Identifier: Apache-2.0
"""RPC endpoints of the scheduler: each method decodes, makes one domain call, and encodes."""
