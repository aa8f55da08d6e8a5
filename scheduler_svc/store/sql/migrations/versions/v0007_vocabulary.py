# SPDX-License-Identifier: Apache-2.0
"""The position of the last change of any provider's traits or inventories."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add it: the present position, at the latest."""
    op.add_column("partitions", sa.Column("vocabulary", sa.BigInteger, nullable=False, server_default="0"))
    partitions = sa.table("partitions", sa.column("position"), sa.column("vocabulary"))
    op.execute(partitions.update().values(vocabulary=partitions.c.position))
