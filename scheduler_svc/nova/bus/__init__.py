# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler RPC interfaces, without any code of Nova."""
