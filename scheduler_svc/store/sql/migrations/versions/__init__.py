# SPDX-License-Identifier: Apache-2.0
"""Migrations in numerical order, one per file."""
