# SPDX-License-Identifier: Apache-2.0
"""The dashboard of a real cluster with users of a real Keystone."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.cluster_size import ClusterSize
from devstack.layout import DASHBOARD
from tests.functional.dashboard.visitor import Answer, Visitor, eventually, is_served
from tests.support.clusters import clusters
from tests.support.placement import keystone_server
from tests.support.placement.keystone_server import ADMINISTRATOR, PASSWORD, PROJECT, KeystoneServer
from tests.support.placement.openstack_client import PROGRAM

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(900)]

SIZE = ClusterSize(computes=1, nodes_per_host=1, schedulers=1, dashboard_port=0)
PAGE = "/hosts/compute0/node0"


@pytest.fixture(scope="module")
def keystone() -> Iterator[KeystoneServer]:
    with keystone_server.running(Path(os.environ[PROGRAM]).parent) as server:
        yield server


@pytest.fixture(scope="module")
def url(keystone: KeystoneServer) -> Iterator[str]:
    """The address of a dashboard whose users may act with the role of the administrator only."""
    options = {
        "auth_strategy": "keystone",
        "auth_url": keystone.url,
        "project_name": PROJECT,
        "roles": "admin,reader",
        "action_roles": "admin",
        "actions": True,
        "refresh_interval": 1,
    }
    with clusters.running_cluster(SIZE, {DASHBOARD: {"dashboard": options}}) as running:
        yield running.cluster.dashboard_url


@pytest.fixture
def visitor(url: str) -> Visitor:
    """A browser that has not signed in."""
    visitor = Visitor(url)
    eventually(lambda: is_served(visitor), "the dashboard")
    return visitor


def sign_in(visitor: Visitor, user: str, password: str = PASSWORD) -> Answer:
    return visitor.post("/sign-in", {"username": user, "password": password, "domain": "Default"})


def test_administrator_signs_in_and_may_act(visitor: Visitor) -> None:
    answer = sign_in(visitor, ADMINISTRATOR)

    assert (answer.status, answer.heading) == (200, "Overview")
    assert f"{ADMINISTRATOR}@Default" in answer.text
    eventually(lambda: "Actions" in visitor.get(PAGE).text, "the forms of the host")


@pytest.mark.parametrize("role", ["reader", "member"])  # Keystone's member implies reader
def test_reader_signs_in_and_may_not_act(visitor: Visitor, keystone: KeystoneServer, role: str) -> None:
    assert sign_in(visitor, keystone.create_user(role)).heading == "Overview"

    eventually(lambda: visitor.get(PAGE).status == 200, "the host")

    assert "Actions" not in visitor.get(PAGE).text
    assert visitor.submit(PAGE, action="disable", reason="x").status == 403


def test_user_without_one_of_the_roles_is_refused(visitor: Visitor, keystone: KeystoneServer) -> None:
    answer = sign_in(visitor, keystone.create_user("service"))

    assert answer.status == 401
    assert "has none of the roles admin, reader" in answer.alert
    assert visitor.get("/hosts").heading == "Sign in"


def test_wrong_password_is_refused(visitor: Visitor) -> None:
    answer = sign_in(visitor, ADMINISTRATOR, "wrong")

    assert answer.status == 401
    assert "Keystone rejected" in answer.alert
    assert visitor.get("/hosts").heading == "Sign in"
