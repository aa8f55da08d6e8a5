# SPDX-License-Identifier: Apache-2.0
"""The size of the decision record."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ESTIMATE = 2048  # bytes of a decision that was stored before


def upgrade() -> None:
    """Add it, estimated by the numbers of the decisions."""
    op.add_column("decisions", sa.Column("until_bytes", sa.BigInteger, nullable=False, server_default="0"))
    decisions = sa.table("decisions", sa.column("number"), sa.column("until_bytes"))
    op.execute(decisions.update().values(until_bytes=decisions.c.number * ESTIMATE))
    op.create_index("decisions_by_bytes", "decisions", ["partition", "until_bytes"])
