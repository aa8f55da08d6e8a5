# SPDX-License-Identifier: Apache-2.0
"""The namespaces of host state: who writes each, and what a document in it looks like."""
