# SPDX-License-Identifier: Apache-2.0
"""The project of each decision record, by which it is found."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add it; the records of earlier releases are found by their request alone."""
    op.add_column("decisions", sa.Column("project", NAME, nullable=False, server_default=""))
    op.create_index("decisions_by_project", "decisions", ["partition", "request", "project", "number"])
