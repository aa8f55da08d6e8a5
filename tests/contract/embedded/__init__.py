# SPDX-License-Identifier: Apache-2.0
"""Guarantees of the embedded bus only: no unacknowledged message is lost, remains are removed, connections recover."""
