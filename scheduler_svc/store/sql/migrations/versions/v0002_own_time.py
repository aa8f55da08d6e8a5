# SPDX-License-Identifier: Apache-2.0
"""The partition's own time, and the server's clock at that time."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add them; a partition that has none begins at the server's clock."""
    for name in ("time_ms", "clock_ms"):
        op.add_column("partitions", sa.Column(name, sa.BigInteger, nullable=True))
