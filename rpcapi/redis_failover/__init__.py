# SPDX-License-Identifier: Apache-2.0
"""Redis failover: locating the primary, connecting to it, and waiting for replicas."""
