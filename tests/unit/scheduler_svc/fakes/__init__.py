# SPDX-License-Identifier: Apache-2.0
"""Fakes and fixtures of the scheduler's tests."""
