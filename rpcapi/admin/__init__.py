# SPDX-License-Identifier: Apache-2.0
"""Operations on a cluster by RPC that commands and dashboard share."""
