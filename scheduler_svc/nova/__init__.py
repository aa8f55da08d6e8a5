# SPDX-License-Identifier: Apache-2.0
"""Nova integration: RPC interfaces, bridge from Nova's databases, and shadow of nova-scheduler."""
