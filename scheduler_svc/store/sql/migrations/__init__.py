# SPDX-License-Identifier: Apache-2.0
"""Alembic migrations of the store's tables."""
