# SPDX-License-Identifier: Apache-2.0
"""Migrations: one numbered file each."""
