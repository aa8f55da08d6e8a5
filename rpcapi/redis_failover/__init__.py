# SPDX-License-Identifier: Apache-2.0
"""Redis fail-over: locates the primary, connects to it, and waits for its replicas."""
