# SPDX-License-Identifier: Apache-2.0
"""Nova's RPC interfaces of a scheduler."""
