# SPDX-License-Identifier: Apache-2.0
"""The steps from one form of the tables to the next, for alembic."""
