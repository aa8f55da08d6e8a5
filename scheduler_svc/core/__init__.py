# SPDX-License-Identifier: Apache-2.0
"""Deciding core: plain logic over a snapshot, independent of store and bus."""
