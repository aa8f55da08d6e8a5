# SPDX-License-Identifier: Apache-2.0
"""The number of a consumer's unverified claims."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add it, none."""
    op.add_column("consumers", sa.Column("unverified", sa.Integer, nullable=True))
