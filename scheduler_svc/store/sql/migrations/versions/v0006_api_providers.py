# SPDX-License-Identifier: Apache-2.0
"""The providers of the Placement API: generations, names and children."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add them; there are none yet."""
    op.add_column("partitions", sa.Column("generation_base", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("providers", sa.Column("generation", sa.BigInteger, nullable=True))
    op.add_column("providers", sa.Column("children", sa.Text, nullable=True))
    op.create_table(
        "provider_names",
        sa.Column("partition", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("provider", NAME, nullable=True),
        sa.PrimaryKeyConstraint("partition", "name"),
    )
