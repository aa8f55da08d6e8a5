# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL and MariaDB over TLS, as docs/tls.md configures them: the store, and the databases of Placement."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from devstack.servers.mariadb import DATABASE, MariadbServer
from devstack.servers.ports import LOOPBACK, free_port
from rpcapi import errors
from scheduler_svc.cmd.placement_import import main as run
from scheduler_svc.databases import DRIVERS
from scheduler_svc.placement.migration import placement_tables as tables
from scheduler_svc.store import url as store_url
from scheduler_svc.store.sql.store import SqlStore
from tests.support import documentation
from tests.support.certificates import SERVER_NAME, write_certificates
from tests.support.placement.placement_database import small_cloud
from tests.support.private_servers.postgresql import DATABASE as POSTGRESQL_DATABASE
from tests.support.private_servers.postgresql import USER, PostgresqlServer
from tests.support.scheduler.placement import NAMESPACES, PlacementApi
from tests.support.servers import running

PARTITION = "p1"
UNAVAILABLE = 69
TRUSTED = ("ca", SERVER_NAME, "client")
REFUSED = {  # by what is wrong: certificate of the authority, name of the server, client's certificate; what is said
    "another authority": ("other-ca", SERVER_NAME, "client", "certificate verify failed"),
    "another name": ("ca", LOOPBACK, "client", "(?i)does not match host name|mismatch"),
    "another client": ("ca", SERVER_NAME, "stranger", "(?i)alert|closed|lost connection|reset|gone away|EOF"),
}


def settings(beginning: str, documented: str, certificates: Path) -> list[str]:
    """Return the lines of a block of the page, with the certificates of the test."""
    (text,) = (
        block.text
        for block in documentation.blocks()
        if block.page == "docs/tls.md" and block.text.startswith(beginning)
    )
    return text.replace(documented, str(certificates)).splitlines()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_certificates(tmp_path_factory.mktemp("tls"))
    for key in folder.glob("*.key"):
        key.chmod(0o600)  # neither server nor client of PostgreSQL takes one that others may read
    return folder


@pytest.fixture(scope="module")
def postgresql(certificates: Path) -> Iterator[PostgresqlServer]:
    """A server that accepts connections to its port over TLS only, from clients with a certificate."""
    access = certificates / "pg_hba.conf"
    access.write_text("local all all trust\nhostssl all all all trust clientcert=verify-ca\n", encoding="utf-8")
    lines = [*settings("ssl = on", "/etc/postgresql/tls", certificates), f"hba_file = '{access}'", "fsync = off"]
    with running(lambda folder: PostgresqlServer(folder, settings=lines, port=free_port())) as server:
        url = make_url(server.url()).set(drivername=DRIVERS["postgresql"])
        with create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT").connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {DATABASE}")
        yield server


@pytest.fixture(scope="module")
def mariadb(certificates: Path) -> Iterator[tuple[MariadbServer, int]]:
    """A server that accepts connections to its port, which comes with it, over TLS only."""
    port = free_port()
    lines = settings("ssl_cert = /etc/mysql", "/etc/mysql/tls", certificates)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in (line.split(" = ") for line in lines)]
    options += ["--skip-networking=0", f"--bind-address={LOOPBACK}", f"--port={port}"]
    with running(lambda folder: MariadbServer(folder, settings=options)) as server:
        yield server, port


def postgresql_url(
    server: PostgresqlServer, certificates: Path, names: Sequence[str] = TRUSTED, database: str = POSTGRESQL_DATABASE
) -> str:
    """Return the URL of the page, for the server of the test and the names of REFUSED."""
    authority, name, client = names
    options = {
        "sslmode": "verify-full",
        "sslrootcert": certificates / f"{authority}.pem",
        "sslcert": certificates / f"{client}.pem",
        "sslkey": certificates / f"{client}.key",
    }
    query = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in options.items())
    return f"postgresql://{USER}@{name}:{server.port}/{database}?{query}"


def mariadb_url(port: int, certificates: Path, names: Sequence[str]) -> str:
    """Return the URL of the page, for the server of the test and the names of REFUSED."""
    authority, name, client = names
    query = f"ssl_ca={certificates}/{authority}.pem&ssl_cert={certificates}/{client}.pem"
    return f"mysql+pymysql://root@{name}:{port}/{DATABASE}?{query}&ssl_key={certificates}/{client}.key"


@pytest.fixture
def gantt_conf(tmp_path: Path) -> str:
    path = tmp_path / "gantt.conf"
    url = f"sqlite:///{tmp_path / 'gantt.sqlite'}"
    path.write_text(f"[rpc]\npartition = {PARTITION}\n[store]\nurl = {url}\n", encoding="utf-8")
    return str(path)


@pytest.fixture(params=["postgresql", "mariadb"])
def placement_url(request: pytest.FixtureRequest, certificates: Path) -> Any:
    """A function that returns the URL of a Placement database with these certificates."""
    server = request.getfixturevalue(request.param)
    if request.param == "postgresql":
        return lambda names: postgresql_url(server, certificates, names, DATABASE)
    return lambda names: mariadb_url(server[1], certificates, names)


def test_the_store_is_served_over_a_verified_connection(postgresql: PostgresqlServer, certificates: Path) -> None:
    url = postgresql_url(postgresql, certificates)
    store_url.check("store", url)
    with contextlib.closing(SqlStore(url, PARTITION, namespaces=NAMESPACES)) as store:
        provider = PlacementApi(store).create("p")
        assert PlacementApi(store).call("GET", f"/resource_providers/{provider}").status == 200


@pytest.mark.parametrize("what", REFUSED)
def test_the_store_is_not_used_over_a_connection_that_is_not_verified(
    postgresql: PostgresqlServer, certificates: Path, what: str
) -> None:
    *names, message = REFUSED[what]
    with (
        contextlib.closing(SqlStore(postgresql_url(postgresql, certificates, names), PARTITION)) as store,
        pytest.raises(errors.StoreUnavailable, match=message),
    ):
        store.snapshot()


def test_a_placement_is_read_and_written_over_a_verified_connection(
    placement_url: Any, gantt_conf: str, tmp_path: Path
) -> None:
    url, gantt = placement_url(TRUSTED), ("--config-file", gantt_conf)
    parsed = make_url(url)
    engine = create_engine(parsed.set(drivername=DRIVERS[parsed.get_backend_name()]), poolclass=NullPool)
    tables.METADATA.create_all(engine)
    assert run([small_cloud(tmp_path).url, *gantt]) == 0
    assert run([url, "--export", *gantt]) == 0
    assert run([url, "--verify", *gantt]) == 0


@pytest.mark.parametrize("what", REFUSED)
def test_a_placement_is_not_read_over_a_connection_that_is_not_verified(
    placement_url: Any, gantt_conf: str, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    *names, message = REFUSED[what]
    assert run([placement_url(names), "--config-file", gantt_conf]) == UNAVAILABLE
    assert re.search(message, capsys.readouterr().err)


def test_a_placement_is_not_read_from_a_server_without_tls(
    mariadb_server: MariadbServer, certificates: Path, gantt_conf: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{mariadb_server.url()}&ssl_ca={certificates / 'ca.pem'}"
    assert run([url, "--config-file", gantt_conf]) == UNAVAILABLE
    assert "SSL is required" in capsys.readouterr().err
