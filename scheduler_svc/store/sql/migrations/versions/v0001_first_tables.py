# SPDX-License-Identifier: Apache-2.0
"""First tables, created from the current definitions until a release freezes them here."""

from alembic import op

from scheduler_svc.store.sql.tables import METADATA

revision = "0001"
down_revision = None


def upgrade() -> None:
    METADATA.create_all(op.get_bind())
