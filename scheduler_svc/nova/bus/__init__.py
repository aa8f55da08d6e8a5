# SPDX-License-Identifier: Apache-2.0
"""RPC interfaces of Nova's scheduler, implemented without code of Nova."""
