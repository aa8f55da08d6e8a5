# SPDX-License-Identifier: Apache-2.0
"""Namespaces of host state, each with its only writer and its document schema."""
