# SPDX-License-Identifier: Apache-2.0
"""Providers as the Placement API changes them: the changes, and what each of them writes."""
