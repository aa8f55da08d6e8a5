# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates: all ways to serve a request from existing providers."""
