# SPDX-License-Identifier: Apache-2.0
"""The Redis that takes the writes: where it is now, connections that follow it, and what its replicas have."""
