# SPDX-License-Identifier: Apache-2.0
"""Every command and snippet of README.md and docs/*.md that can be run, on one cluster."""

import itertools
import json

import pytest

from devstack.cluster_size import ClusterSize
from tests.functional.reader import Reader
from tests.support import documentation
from tests.support.clusters import clusters

SIZE = ClusterSize(computes=2, nodes_per_host=2, schedulers=1, pools=2, networks=2)
SCHEMA = {"type": "object", "properties": {"watts_free": {"type": "number"}, "power": {"type": "string"}}}

# Commands that are not run here, by their beginning, with the reason.
NOT_RUN = {
    ". .venv/bin/activate": "puts the commands on PATH; the test runs those of its own environment",
    "./devstack/stack.sh": "makes an environment and a cluster; tests/functional/test_stack.py runs it",
    "./devstack/nova.sh": "installs Nova and starts a cloud; tests/nova starts the same one",
    "./devstack/run_tests.sh": "runs these tests",
    "python3 -m venv": "installs packages from an index",
    ".venv/bin/python -m pytest": "runs tests",
    "./devstack/lab.sh": "makes an environment and measures for minutes; tests/unit/devstack/lab runs it briefly",
    "source <(gantt complete": "changes the reader's shell; tests/unit/rpcapi/cli/test_complete.py runs both scripts",
    "gantt host enroll": "needs the administrator of a RabbitMQ; tests/functional/test_enrollment.py runs it",
    "gantt host revoke": "needs the administrator of a RabbitMQ; tests/functional/test_enrollment.py runs it",
    "gantt host drain": "moves servers of other pages; tests/functional/test_drain.py runs it",
    "gantt host fence": "needs a host that is down; tests/chaos/test_evacuation.py runs it",
    "gantt host evacuate": "needs a fenced host; tests/chaos/test_evacuation.py runs it",
    "gantt host replace": "needs a host that is down; tests/functional/test_host_identity.py runs it",
    "gantt server evacuate": "needs a fenced host; tests/unit/rpcapi/cli/test_server_evacuate.py runs it",
    "gantt audit": "fails while servers of other pages move; tests/functional/test_adoption.py runs it",
    "gantt client enroll": "needs the administrator of a RabbitMQ; tests/functional/test_enrollment.py runs it",
    "gantt client revoke": "needs the administrator of a RabbitMQ; tests/functional/test_enrollment.py runs it",
    "openstack": "needs osc-placement; tests/placement/test_openstack_client.py runs it",
    "openstack scheduler": "needs Keystone; tests/contract/test_documentation.py checks it as it does those of gantt",
    "export": "is for the commands of openstack",
    "gantt-placement --config-file": "serves until it is stopped; tests/placement starts it",
    "gantt-placement-shadow": "serves until it is stopped; tests/functional/test_placement_shadow.py starts it",
    "gantt-placement-import": "needs another Placement; tests/functional/servers/test_placement_import.py runs it",
    "gunicorn": "serves until it is stopped; tests/functional/test_placement_wsgi.py starts it",
    "createuser": "needs the administrator of a PostgreSQL server",
    "nova-manage": "needs a Nova; tests/nova/test_commands.py runs it",
    "devstack/deploy/systemd/install.sh": "needs root; tests/functional/systemd runs it",
    "pip install": "installs packages from an index; tests/functional/packaging does",
    "/opt/gantt/bin/pip": "installs packages from an index; tests/functional/packaging does",
    "apt-get": "needs root; tests/functional/packaging installs the packages on a machine of its own",
    "tox ": "makes environments and builds packages; tests/functional/packaging calls what it runs",
    "$EDITOR": "is interactive",
    "systemd-tmpfiles": "needs root; tests/functional/systemd runs it",
    "systemctl": "needs systemd; tests/functional/systemd runs it",
}
NOT_RUN_SNIPPETS = {
    "RedisCluster(": "starts servers that stay; tests/functional/failover starts the same class",
}


def is_run(line):
    return not any(line.startswith(beginning) for beginning in NOT_RUN)


PAGES = {
    page: [line for _, line in lines if is_run(line)]
    for page, lines in itertools.groupby(documentation.commands(), key=lambda item: item[0])
}
SNIPPETS = [
    block
    for block in documentation.blocks()
    if block.language == "python" and not any(part in block.text for part in NOT_RUN_SNIPPETS)
]


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    schema = folder / "rack.schema.json"
    schema.write_text(json.dumps(SCHEMA))
    overrides = {
        "scheduler": {
            "scheduler": {"namespaces": "rack"},
            "namespace:rack": {"writer": "rackd", "schema": str(schema)},
        }
    }
    with clusters.running_cluster(SIZE, overrides) as running:
        yield Reader(running, folder)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", [page for page, lines in PAGES.items() if lines])
def test_commands_of_a_page_succeed_in_their_order(reader, page):
    failures = []
    for line in PAGES[page]:
        result = reader.run(line)
        if result.returncode:
            failures.append((line, result.returncode, result.stdout + result.stderr))
    # A page may disable a host, but not for the next page.
    assert reader.run("gantt host enable compute0").returncode == 0
    assert failures == []


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.page)
def test_python_snippets_run(reader, snippet):
    result = reader.run_python(snippet.text)
    assert result.returncode == 0, result.stderr


def test_only_documented_commands_are_excepted():
    lines = [line for _, line in documentation.commands()]
    assert [part for part in NOT_RUN if not any(line.startswith(part) for line in lines)] == []
    texts = [block.text for block in documentation.blocks()]
    assert [part for part in NOT_RUN_SNIPPETS if not any(part in text for text in texts)] == []
    assert sum(map(len, PAGES.values())) >= 20
