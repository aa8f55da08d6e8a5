# SPDX-License-Identifier: Apache-2.0
"""Namespaces of host state, each with a writer and a document schema."""
