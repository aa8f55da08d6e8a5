# SPDX-License-Identifier: Apache-2.0
"""The page of metrics, the alert rules, the dashboard and the runbook agree with what the services declare."""

import json
import re
import subprocess

import pytest
import yaml

from devstack.deploy.monitoring import dashboard, metrics_page, prometheus
from devstack.servers.errors import BinaryMissing
from scheduler_svc.core.built_in import FILTERS
from tests.support import CHECKOUT
from tests.support.documentation import PAGES, blocks
from tests.support.monitoring import OF_OTHERS, RULES, declared
from tests.support.servers import missing

TESTS, PROMTOOL_SECONDS = "alerts-test.yml", 60
FOLDER = prometheus.RULES.parent
OF_EXPORTERS = {"rabbitmq_queue_messages", "probe_ssl_earliest_cert_expiry"}  # RabbitMQ's, and the black box exporter
# In a query: what is no metric, and a selection by a pattern of names.
SELECTORS_AND_LABELS = re.compile(r"\{[^}]*\}|\[[^]]*\]|\b(?:by|on)\s*\([^)]*\)")
NAME_PATTERN = re.compile(r'__name__=~"([^"]*)"')
OPERATORS = {"or", "unless"}


def queries():
    yield from ((rule["alert"], rule["expr"]) for rule in RULES)
    for panels in dashboard.ROWS.values():
        yield from ((panel["title"], query["expr"]) for panel in panels for query in panel["targets"])


def test_page_is_written_from_the_declarations():
    assert metrics_page.PAGE.read_text() == metrics_page.text(), "run `tox -e samples`"


def test_dashboard_is_written_from_its_panels():
    assert dashboard.PATH.read_text() == dashboard.text(), "run `tox -e samples`"


def test_names_follow_the_scheme():
    for name in declared() - OF_OTHERS:
        assert re.fullmatch(rf"gantt_({'|'.join(metrics_page.SUBSYSTEMS)})_[a-z_]+", name), name


@pytest.mark.parametrize(("title", "expr"), list(queries()))
def test_queries_name_metrics_that_exist(title, expr):
    names = set(re.findall(r"\b[a-z_]+\b(?!\s*\()", SELECTORS_AND_LABELS.sub("", expr))) - OPERATORS
    patterns = NAME_PATTERN.findall(expr)
    assert names or patterns, title
    assert names <= declared() | OF_EXPORTERS, title
    for pattern in patterns:
        assert any(re.fullmatch(pattern, name) for name in declared()), title


def test_panels_do_not_overlap_and_lie_within_the_grid():
    cells = set()
    for panel in dashboard.dashboard()["panels"]:
        at = panel["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not own & cells, panel["title"]
        assert all(x < 24 for x, _ in own)
        cells |= own
    ids = [panel["id"] for panel in dashboard.dashboard()["panels"]]
    assert len(set(ids)) == len(ids)


def test_every_alert_has_a_section_in_the_runbook():
    sections = re.findall(r"^## (Gantt\w+)$", (CHECKOUT / "docs" / "runbook.md").read_text(), re.M)
    assert sections == [rule["alert"] for rule in RULES]
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_runbook_names_metrics_that_exist():
    names = set(re.findall(r"\bgantt_[a-z_]+\b", (CHECKOUT / "docs" / "runbook.md").read_text()))
    assert names
    assert names <= declared()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_other_pages_name_metrics_that_exist(page):
    names = re.findall(rf"\bgantt_(?:{'|'.join(metrics_page.SUBSYSTEMS)})_[a-z_]+\b", page.read_text())
    assert set(names) <= declared()


def promtool(folder, *arguments):
    try:
        program = prometheus.find_program("promtool")
    except BinaryMissing as why:
        missing(why)
    return subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, timeout=PROMTOOL_SECONDS, check=False
    )


@pytest.mark.parametrize("arguments", [("check", "rules", "alerts.yml"), ("test", "rules", TESTS)])
def test_rules_pass_their_own_tests(arguments):
    result = promtool(FOLDER, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr


def test_runbooks_configuration_of_prometheus_is_valid(tmp_path):
    (text,) = (block.text for block in blocks() if block.page == "docs/runbook.md" and "scrape_configs" in block.text)
    (tmp_path / "prometheus.yml").write_text(text)
    (tmp_path / "alerts.yml").write_text(prometheus.RULES.read_text())

    result = promtool(tmp_path, "check", "config", "prometheus.yml")

    assert result.returncode == 0, result.stdout + result.stderr
    jobs = {job["job_name"]: job for job in yaml.safe_load(text)["scrape_configs"]}
    of_alerts = re.findall(r'job="([^"]+)"', " ".join(rule["expr"] for rule in RULES))
    assert set(of_alerts) <= jobs.keys()
    (modules,) = (block.text for block in blocks() if block.page == "docs/runbook.md" and "modules:" in block.text)
    assert set(jobs["gantt-tls"]["params"]["module"]) <= yaml.safe_load(modules)["modules"].keys()


@pytest.mark.parametrize("expr", ["vector(1)", "vector(1) < 0"], ids=["always", "never"])
def test_rules_that_fire_always_or_never_are_noticed(tmp_path, expr):
    # All at once: no rule reads another, each alert is reported by its own name, and promtool takes as long for one.
    document = yaml.safe_load(prometheus.RULES.read_text())
    for rule in document["groups"][0]["rules"]:
        rule["expr"] = expr
    (tmp_path / "alerts.yml").write_text(json.dumps(document))
    (tmp_path / TESTS).write_text((FOLDER / TESTS).read_text())

    result = promtool(tmp_path, "test", "rules", TESTS)

    assert result.returncode == 1
    reported = set(re.findall(r"alertname: (\w+)", result.stdout + result.stderr))
    assert reported == {rule["alert"] for rule in RULES}


@pytest.mark.parametrize("name", [item.name for item in FILTERS if item.name != "AllHostsFilter"])
def test_page_has_the_reasons_of_every_filter(name):
    assert f"`{name}`" in metrics_page.text().partition("## Reasons")[2]
