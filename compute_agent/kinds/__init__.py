# SPDX-License-Identifier: Apache-2.0
"""Kinds of resources: what of each a node has, how it is handed out to guests, what is reported of it."""
