# SPDX-License-Identifier: Apache-2.0
"""Nova's RPC interfaces of a scheduler: what Nova sends and expects, without any code of Nova."""
