# SPDX-License-Identifier: Apache-2.0
"""The first tables: those of the code, until a release has created any.

The first change of them after that copies them here, and becomes the next migration.
"""

from alembic import op

from scheduler_svc.store.sql.tables import METADATA

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all of them."""
    METADATA.create_all(op.get_bind())
