# SPDX-License-Identifier: Apache-2.0
"""The sums of what the consumers of each project hold."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add them, empty: ``tallied`` says whether those of a partition are complete."""
    op.create_table(
        "tallies",
        sa.Column("partition", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("tally", sa.Text, nullable=True),
        sa.Column("project", NAME, nullable=False),
        sa.PrimaryKeyConstraint("partition", "name"),
    )
    op.create_index("tallies_by_project", "tallies", ["partition", "project"])
    op.add_column("partitions", sa.Column("tallied", sa.Boolean))
