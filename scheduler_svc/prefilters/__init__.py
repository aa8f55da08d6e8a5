# SPDX-License-Identifier: Apache-2.0
"""Prefilters: each a pure function that rewrites a request once, before any host is looked at."""
