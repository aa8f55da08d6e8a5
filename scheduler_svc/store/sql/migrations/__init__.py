# SPDX-License-Identifier: Apache-2.0
"""Schema migrations, for alembic."""
