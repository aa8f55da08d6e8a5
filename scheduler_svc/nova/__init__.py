# SPDX-License-Identifier: Apache-2.0
"""The house of Nova: its RPC interfaces, the bridge from its databases, and the shadow of nova-scheduler."""
