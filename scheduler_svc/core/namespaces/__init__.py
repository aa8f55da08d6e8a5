# SPDX-License-Identifier: Apache-2.0
"""Namespaces of host state: the writer and the document schema of each."""
