# SPDX-License-Identifier: Apache-2.0
"""Prefilters: pure functions that rewrite a request before hosts are filtered."""
