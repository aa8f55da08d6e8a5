# SPDX-License-Identifier: Apache-2.0
"""The conductor's own small store: requests, instances, and whose turn it is to work on them."""
