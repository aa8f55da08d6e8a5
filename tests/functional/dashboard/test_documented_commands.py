# SPDX-License-Identifier: Apache-2.0
"""The dashboard's pages after each command of README.md."""

import json
import re
import time
from collections.abc import Mapping

from devstack.cluster_size import ClusterSize
from devstack.layout import DASHBOARD
from tests.functional.dashboard.visitor import Answer, Visitor, eventually, is_served
from tests.functional.reader import Reader
from tests.support import documentation
from tests.support.clusters import clusters

SIZE = ClusterSize(computes=2, nodes_per_host=2, schedulers=1, dashboard_port=0)
REFRESH_SECONDS = 1  # smallest interval that the dashboard accepts
COMMANDS = [line for page, line in documentation.commands() if page == "README.md" and line.startswith("gantt ")]
# Pages with parameters; links lead to the others.
FORMS = ("/hosts?group=aggregate", "/heat-map?class=VCPU&group=aggregate", "/dry-run?flavor=m1.tiny")


def open_all(visitor: Visitor) -> Mapping[str, Answer]:
    """Open the overview, the forms and every page that a page links to; return the answers by path."""
    answers: dict[str, Answer] = {}
    paths = ["/", *FORMS]
    while paths:
        path = paths.pop()
        if path not in answers:
            answers[path] = visitor.get(path)
            paths += re.findall(r'<a [^>]*href="(/[^"#]*)"', answers[path].text)
    return answers


def test_every_page_opens_after_every_command_of_the_readme(tmp_path):
    with clusters.running_cluster(SIZE, {DASHBOARD: {"dashboard": {"refresh_interval": REFRESH_SECONDS}}}) as running:
        reader, visitor = Reader(running, tmp_path), Visitor(running.cluster.dashboard_url)
        eventually(lambda: is_served(visitor), "the dashboard")
        visitor.sign_in(running.cluster.dashboard_token)
        broken = []
        for command in COMMANDS:
            result = reader.run(command)
            assert result.returncode == 0, result.stderr
            time.sleep(REFRESH_SECONDS)  # until then pages show what they read before the command
            answers = open_all(visitor)
            broken += [(command, path, answer.alert) for path, answer in answers.items() if answer.status != 200]

        assert broken == []
        assert answers.keys() >= {"/hosts", "/hosts/compute0/node0", "/services", "/migrations"}
        assert any(path.startswith("/decisions/req-") for path in answers)
        (aggregate,) = json.loads(reader.run("gantt aggregate list -f json").stdout)
        assert f"<td>{aggregate['id']}</td>" in answers["/hosts"].text
        assert f"<dd>{aggregate['id']}</dd>" in answers["/hosts/compute0/node0"].text
        groups = json.loads(answers["/heat-map?class=VCPU&group=aggregate"].text)["groups"]
        assert [group["name"] for group in groups] == [aggregate["id"]]
