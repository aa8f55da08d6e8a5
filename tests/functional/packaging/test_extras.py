# SPDX-License-Identifier: Apache-2.0
"""Each extra of the wheel in an environment of its own, from the package index: its programs start."""

from pathlib import Path
from typing import NamedTuple

import pytest

from devstack.packaging.distribution import Distribution
from tests.functional.packaging.environments import CleanEnvironment

pytestmark = [pytest.mark.packages, pytest.mark.timeout(900)]


class Extra(NamedTuple):
    """What an extra is for: programs that answer --help, modules that import, further extras that it is used with."""

    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


SCHEDULER = ("gantt-scheduler", "gantt-nova-config")
PLACEMENT = ("gantt-placement", "gantt-placement-import", "gantt-placement-shadow")
SQL, MEMCACHED, SOLVER = "scheduler_svc.store.sql.store", "scheduler_svc.store.memcached.states", "highspy"
GREEN, TOOZ = "eventlet", "tooz.coordination"
EVERY_SERVICE = (*SCHEDULER, *PLACEMENT, "gantt-nova-bridge", "gantt-conductor", "gantt-compute", "gantt-dashboard")
EXTRAS = {
    "scheduler": Extra(SCHEDULER),
    "placement": Extra(PLACEMENT),
    "nova": Extra((*SCHEDULER, "gantt-nova-bridge")),
    "conductor": Extra(("gantt-conductor",)),
    "compute": Extra(("gantt-compute",)),
    "eventlet": Extra(modules=("rpcapi.messaging.green", GREEN)),
    "embedded": Extra(modules=("rpcapi.messaging.drivers.redis_bus", "devstack.servers.redis_binary")),
    "sqlalchemy": Extra(modules=(SQL, "psycopg", "alembic.command"), beside=("scheduler",)),
    "memcached": Extra(modules=(MEMCACHED,), beside=("scheduler",)),
    "solver": Extra(modules=("scheduler_svc.core.drivers.solver.driver", SOLVER), beside=("scheduler",)),
    "shell": Extra(("gantt",)),
    "status": Extra(("gantt-status",)),
    "openstackclient": Extra(("openstack", "gantt"), ("rpcapi.cli.openstack",)),
    "tracing": Extra(modules=("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")),
    "dashboard": Extra(("gantt-dashboard",)),
    "tooz": Extra(modules=("rpcapi.daemon.coordination", TOOZ, "kazoo.client"), beside=("conductor",)),
    "lab": Extra(("gantt-lab",)),
    "all": Extra((*EVERY_SERVICE, "gantt", "gantt-status"), (SQL, MEMCACHED, SOLVER, GREEN, TOOZ)),
    "test": Extra(("pytest", "twine"), ("hypothesis", "gabbi", "trustme")),
    "docs": Extra(("sphinx-build", "reno"), ("furo", "mmdr", "myst_parser")),
    "lint": Extra(("ruff", "mypy", "codespell", "lint-imports", "reno")),
}


def test_table_has_every_extra(built: Distribution) -> None:
    assert set(built.metadata.get_all("Provides-Extra", [])) == set(EXTRAS)


@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_installs_and_its_programs_start(built: Distribution, tmp_path: Path, extra: str) -> None:
    environment, contents = CleanEnvironment(tmp_path / "venv"), EXTRAS[extra]
    environment.create()

    environment.pip("install", "--quiet", f"gantt[{','.join((extra, *contents.beside))}] @ {built.wheel.as_uri()}")

    assert environment.pip("check").strip() == "No broken requirements found."
    for program in contents.programs:
        assert "usage" in environment.run(program, "--help").lower(), program
    for module in contents.modules:
        environment.run("python", "-W", "ignore", "-c", f"import {module}")


def test_without_an_extra_the_client_library_imports_and_programs_name_their_extra(
    built: Distribution, tmp_path: Path
) -> None:
    environment = CleanEnvironment(tmp_path / "venv")
    environment.create()

    environment.pip("install", "--quiet", built.wheel)

    assert environment.pip("check").strip() == "No broken requirements found."
    environment.run("python", "-c", "from rpcapi.clients.scheduler import SchedulerAPI")
    with pytest.raises(AssertionError, match=r"run: pip install 'gantt\[scheduler\]'"):
        environment.run("gantt-scheduler", "--help")
