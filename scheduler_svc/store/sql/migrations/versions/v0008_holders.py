# SPDX-License-Identifier: Apache-2.0
"""The claims by the providers that they hold from, beside their hosts."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add them, for the stored claims too."""
    op.create_table(
        "holders",
        sa.Column("partition", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("present", sa.Integer, nullable=True),
        sa.PrimaryKeyConstraint("partition", "name"),
    )
    consumers = sa.table("consumers", sa.column("partition"), sa.column("claim"))
    holders = sa.table("holders", sa.column("partition"), sa.column("name"), sa.column("present"))
    connection = op.get_bind()
    query = sa.select(consumers.c.partition, consumers.c.claim).where(consumers.c.claim.is_not(None))
    rows = [
        {"partition": partition, "name": f"{provider}|{claim['consumer']}", "present": 1}
        for partition, claim in ((partition, json.loads(text)) for partition, text in connection.execute(query))
        for provider in claim["allocations"]
        if provider != claim["host"]
    ]
    if rows:
        connection.execute(holders.insert(), rows)
