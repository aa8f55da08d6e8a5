# SPDX-License-Identifier: Apache-2.0
"""``openstack scheduler`` with a real Keystone and a whole cluster."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from devstack.cluster_size import ClusterSize
from rpcapi.cli import commands, openstack
from tests.support.clusters import clusters
from tests.support.placement import keystone_server
from tests.support.placement.keystone_server import ADMINISTRATOR, PASSWORD
from tests.support.placement.openstack_client import PROGRAM, client_environment

SHAPE = ClusterSize(computes=2, nodes_per_host=2, schedulers=1)
SMALLEST = "m1.tiny"
SECONDS = 120
NO_USER = dict.fromkeys(("OS_USERNAME", "OS_PASSWORD", "OS_USER_DOMAIN_NAME"), "")
NO_PROJECT = dict.fromkeys(("OS_PROJECT_NAME", "OS_PROJECT_DOMAIN_NAME"), "")
NO_TOKEN = "needs a project-scoped Keystone token"  # noqa: S105 - a message

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def keystone():
    with keystone_server.running(Path(os.environ[PROGRAM]).parent) as server:
        yield server


@pytest.fixture(scope="module")
def member(keystone):
    return keystone.create_user("member")


@pytest.fixture(scope="module")
def running():
    with clusters.running_cluster(SHAPE) as cluster:
        yield cluster


@pytest.fixture
def run(keystone, running, tmp_path):
    """Runs ``openstack scheduler`` with the variables of a user; returns the completed process."""

    def run(*argv, user=ADMINISTRATOR, command="scheduler", **variables):
        environment = client_environment(tmp_path) | keystone.credentials(user)
        environment[openstack.FILE_VARIABLE] = str(running.cluster.client_conf)
        environment |= variables
        environment = {name: value for name, value in environment.items() if value}
        return subprocess.run(
            [os.environ[PROGRAM], command, *argv],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    return run


@pytest.fixture
def document(run):
    """Runs ``openstack scheduler`` and returns the document that it prints."""

    def document(*argv, code=0, **options):
        answer = run(*argv, "-f", "json", **options)
        assert (answer.returncode, answer.stderr) == (code, "")
        return json.loads(answer.stdout)

    return document


@pytest.fixture
def content(running):
    """Returns what the cluster holds: servers, claims and decisions."""
    session = running.session

    def content():
        servers = session.list_all(session.conductor.list_instances, "instances", deleted=True)
        claims = session.list_all(session.claims.list_claims, "claims")
        decisions = session.call(session.scheduler.list_decisions, "default", limit=1000).decisions
        return (
            sorted((server.uuid, server.status, server.updated_ms) for server in servers),
            sorted(json.dumps(claim, sort_keys=True) for claim in claims),
            sorted(decision.request_id for decision in decisions),
        )

    return content


def test_openstack_has_the_commands_of_gantt(run, document):
    (group,) = document("list", "--group", "openstack.scheduler.v1", command="command")
    assert group["Commands"] == sorted(f"scheduler {name}" for name in commands.OPENSTACK_COMMANDS)
    answer = run("scheduler", "host", "list", command="help")
    assert answer.stdout.startswith("usage: openstack scheduler host list") and not answer.stderr


def test_administrator_lists_hosts(document, running):
    session = running.session
    states = session.list_all(session.scheduler.list_host_state, "states", "compute")
    nodes = {state.name for state in states if state.document.get("parent") is None}
    rows = document("host", "list")
    assert {row["name"] for row in rows} == nodes and len(nodes) == SHAPE.nodes
    assert {row["state"] for row in rows} == {"up"}


def test_server_is_of_the_project_and_user_of_the_token(document, run, keystone, member):
    (row,) = document("boot", "--flavor", SMALLEST, "--wait", user=member)
    server = document("server", "show", row["uuid"], user=member)
    assert (server["status"], server["project"], server["user"]) == (
        "ACTIVE",
        keystone.project_id,
        keystone.user_id(member),
    )

    decision = document("explain", server["request_id"], user=member)
    assert (decision["outcome"], decision["request_id"]) == ("selected", server["request_id"])

    used = {row["resource"]: row["used"] for row in document("quota", "show", user=member)}
    assert used["instances"] == 1
    other = {"OS_PROJECT_NAME": keystone.create_project("other", member)}
    assert {row["used"] for row in document("quota", "show", user=member, **other)} == {0}

    deleted = run("-v", "server", "delete", "--wait", row["uuid"], user=member)
    assert (deleted.returncode, deleted.stdout) == (0, "") and "1 deleted" in deleted.stderr


def test_dry_run_is_explained(document, content):
    before = content()
    decision = document("explain", "--dry-run", "--flavor", SMALLEST)
    assert (decision["outcome"], decision["hosts_considered"]) == ("selected", SHAPE.nodes)
    assert content() == before


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"OS_PASSWORD": "wrong"}, "HTTP 401"),
        ({"OS_USERNAME": "nobody"}, "HTTP 401"),
        ({"OS_PROJECT_NAME": "unknown"}, "HTTP 401"),
        ({"OS_AUTH_TYPE": "v3token", "OS_TOKEN": "gAAAAABnonsense", **NO_USER}, "HTTP 404"),
        ({"OS_AUTH_URL": ""}, "Missing value auth-url"),
        (NO_PROJECT, NO_TOKEN),
        ({"OS_AUTH_TYPE": "none", "OS_ENDPOINT": "http://localhost", **NO_USER, **NO_PROJECT}, NO_TOKEN),
    ],
)
def test_user_whom_keystone_does_not_authenticate_changes_nothing(run, content, variables, message):
    before = content()
    answer = run("boot", "--flavor", SMALLEST, "--wait", **variables)
    assert answer.returncode == 1 and message in answer.stderr, answer.stderr
    assert "Traceback" not in answer.stderr and PASSWORD not in answer.stderr and not answer.stdout
    assert content() == before


def test_each_command_of_the_prompt_has_a_session_of_its_own(keystone, running, tmp_path):
    environment = client_environment(tmp_path) | keystone.credentials(ADMINISTRATOR)
    command = [os.environ[PROGRAM], "--os-scheduler-config-file", str(running.cluster.client_conf)]
    lines = "scheduler host list -f value -c name\nscheduler service list -f value -c binary\n"
    answer = subprocess.run(
        command, env=environment, input=lines, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert "compute0/node0" in answer.stdout and "gantt-conductor" in answer.stdout, answer.stderr


def test_errors_of_the_cluster_are_one_line(run):
    unknown = "6f1c1d0e-0b0c-4c67-9a54-3a6a27e0a5aa"
    answer = run("server", "show", unknown)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (1, "", 1)
    assert unknown in answer.stderr


def test_configuration_file_of_a_cloud_is_used(document, keystone, running, tmp_path):
    clouds = {"clouds": {"here": {"scheduler_config_file": str(running.cluster.client_conf)}}}
    path = tmp_path / "clouds.yaml"
    path.write_text(json.dumps(clouds))  # which is YAML too
    variables = {openstack.FILE_VARIABLE: "", "OS_CLIENT_CONFIG_FILE": str(path), "OS_CLOUD": "here"}
    assert len(document("host", "list", **variables)) == SHAPE.nodes


def test_missing_configuration_file_is_named(run):
    answer = run("host", "list", **{openstack.FILE_VARIABLE: "/nowhere/gantt.conf"})
    assert answer.stderr == "Bad configuration: configuration file /nowhere/gantt.conf is missing or unreadable\n"


def test_revoked_token_changes_nothing(run, content, keystone):
    token = keystone.token(ADMINISTRATOR)
    variables = {"OS_AUTH_TYPE": "v3token", "OS_TOKEN": token, **NO_USER}
    assert run("host", "list", **variables).returncode == 0
    keystone.revoke(token)
    before = content()
    answer = run("boot", "--flavor", SMALLEST, **variables)
    assert answer.returncode == 1 and "HTTP 404" in answer.stderr and not answer.stdout
    assert content() == before
