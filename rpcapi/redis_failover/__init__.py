# SPDX-License-Identifier: Apache-2.0
"""Redis failover: locates the primary, connects to it, and waits for its replicas."""
