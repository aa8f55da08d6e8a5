# SPDX-License-Identifier: Apache-2.0
"""Alembic environment. Migrations run in the caller's transaction, which has locked the schema."""

from alembic import context

from scheduler_svc.store.sql.schema import VERSION_TABLE
from scheduler_svc.store.sql.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=VERSION_TABLE
)
context.run_migrations()
