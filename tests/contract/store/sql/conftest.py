# SPDX-License-Identifier: Apache-2.0
"""Empty databases for the tests of the SQL backend."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh(request: pytest.FixtureRequest, run_folder: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{run_folder / 'fresh.sqlite'}"
        return
    url = make_url(request.getfixturevalue("postgresql_server").url())
    name = f"fresh_{uuid.uuid4().hex[:8]}"
    plain = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with plain.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield url.set(database=name).render_as_string(hide_password=False)
    with plain.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
