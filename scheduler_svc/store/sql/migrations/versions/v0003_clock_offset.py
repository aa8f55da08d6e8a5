# SPDX-License-Identifier: Apache-2.0
"""The offset of a service's clock."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add it, unknown."""
    op.add_column("services", sa.Column("clock_offset", sa.Text, nullable=True))
