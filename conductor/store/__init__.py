# SPDX-License-Identifier: Apache-2.0
"""The conductor's store: requests, instances and the leases on their work."""
