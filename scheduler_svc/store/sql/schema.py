# SPDX-License-Identifier: Apache-2.0
"""Creation and migration of the tables, by the first process that connects."""

from functools import cache
from pathlib import Path
from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from rpcapi import errors
from scheduler_svc.store.sql.dialect import SqlDialect

VERSION_TABLE = "gantt_schema"
_LOCK = Lock()  # alembic's context is global to the process.


def ensure(dialect: SqlDialect, connection: Connection) -> None:
    """Create or migrate the tables. Raises BadConfiguration if a newer gantt has migrated them."""
    with _LOCK:
        with connection.begin():
            if _version(connection) == _scripts().get_current_head():
                return
        with connection.begin():
            dialect.lock_schema(connection)
            version = _version(connection)
            if version is not None and not _is_supported(version):
                raise errors.BadConfiguration(
                    why=f"the store's tables have version {version} of a newer gantt; upgrade this one"
                )
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    return config


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _version(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _is_supported(version: str) -> bool:
    return any(script.revision == version for script in _scripts().walk_revisions())
