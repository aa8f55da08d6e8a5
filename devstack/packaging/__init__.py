# SPDX-License-Identifier: Apache-2.0
"""Builds what a release consists of, from a checkout: none of it is installed."""
