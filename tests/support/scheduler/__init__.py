# SPDX-License-Identifier: Apache-2.0
"""Schedulers and hosts without a bus."""
