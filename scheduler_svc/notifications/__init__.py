# SPDX-License-Identifier: Apache-2.0
"""Publishing of host state changes as oslo.messaging notifications."""
