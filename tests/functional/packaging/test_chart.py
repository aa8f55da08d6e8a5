# SPDX-License-Identifier: Apache-2.0
"""The Helm chart: its values by its schema, and with Helm itself its templates, by Kubernetes' schemas."""

import json
import tarfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from devstack.deploy.packaging import chart, checkout
from devstack.deploy.packaging.debian_packages import SERVICES
from tests.functional.packaging.conftest import need_checkout
from tests.functional.packaging.programs import need_module

CHART = checkout.ROOT / chart.PATH
KUBERNETES = "1.31"
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
PEER = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
EVERYTHING: dict[str, Any] = {
    "image": {"digest": f"sha256:{'0' * 64}", "pullSecrets": [{"name": "registry"}]},
    "config": {"store": {"durability": "always"}},
    "networkPolicy": {"metricsFrom": [PEER], "httpFrom": [{"podSelector": {}}]},
    "services": {
        "dashboard": {"enabled": True},
        "placement": {"enabled": True, "config": {"api": {"auth_strategy": "keystone"}}},
        "nova-bridge": {"enabled": True, "tolerations": [{"operator": "Exists"}]},
        "scheduler": {"config": {"scheduler": {"claim_ttl": 3600000, "workers": 4}, "solver": {"work_limit": 0.5}}},
    },
    "compute": {"enabled": True, "nodeSelector": {"gantt": "compute"}},
    "priorityClassName": "system-cluster-critical",
}


def merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return values with changes, as Helm merges them."""
    result = deepcopy(values)
    for name, value in changes.items():
        is_mapping = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = merged(result[name], value) if is_mapping else value
    return result


def validate(values: dict[str, Any]) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft7Validator(schema).validate(values)


def render(changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects that Helm makes of the chart with these values, each valid by Kubernetes' schema."""
    helm = need_module("helm_python.chart")
    kubernetes_validate = need_module("kubernetes_validate")
    report = helm.lint(CHART, changes, strict=True)
    problems = [message for message in report["messages"] if message["severity"] > 1]  # 1: an icon is recommended
    assert (problems, report["errors"]) == ([], [])
    texts = helm.Chart.load(CHART).render(changes, name="demo", namespace="cloud")
    documents = [
        document
        for name, text in texts.items()
        if name.endswith(".yaml")
        for document in yaml.safe_load_all(text)
        if document
    ]
    for document in documents:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    return documents


def named(documents: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(document["kind"], document["metadata"]["name"]): document for document in documents}


def test_values_fit_their_schema() -> None:
    validate(DEFAULTS)
    validate(merged(DEFAULTS, EVERYTHING))


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"DEFAULT": {"transport_url": "rabbit://u:p@h"}}},
        {"services": {"scheduler": {"config": {"store": {"url": "redis://p@h"}}}}},
        {"services": {"scheduler": {"replicas": 0}}},
        {"services": {"schedulers": DEFAULTS["services"]["scheduler"]}},
        {"image": {"digest": "latest"}},
        {"metricsPort": 80},
        {"terminationGracePeriodSeconds": 30},
        {"replicaCount": 2},
    ],
    ids=["password", "store", "no replica", "unknown service", "digest", "port", "short drain", "unknown value"],
)
def test_wrong_values_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validate(merged(DEFAULTS, changes))


def test_every_service_is_in_the_chart() -> None:
    assert {*DEFAULTS["services"], "compute"} == set(SERVICES)


def test_archive_has_the_version_of_the_wheel(tmp_path: Path) -> None:
    need_checkout()
    archive = chart.package(tmp_path, "1.2rc1")

    assert archive.name == "gantt-1.2-rc1.tgz"
    with tarfile.open(archive) as tar:
        names = tar.getnames()
        text = tar.extractfile("gantt/Chart.yaml")
        assert text is not None
        described = yaml.safe_load(text.read())
    assert (described["version"], described["appVersion"]) == ("1.2-rc1", "1.2rc1")
    assert {"gantt/values.yaml", "gantt/values.schema.json", "gantt/templates/_pod.tpl"} <= set(names)


@pytest.mark.packages
@pytest.mark.parametrize("changes", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_pods_have_no_rights_and_write_nowhere(changes: dict[str, Any]) -> None:
    pods = {
        document["metadata"]["name"]: document["spec"]["template"]["spec"]
        for document in render(changes)
        if document["kind"] in ("Deployment", "DaemonSet")
    }

    names = set(SERVICES) if changes else {"conductor", "scheduler"}
    assert set(pods) == {f"demo-{name}" for name in names}
    for pod in pods.values():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]


@pytest.mark.packages
def test_options_of_a_service_are_its_own_over_those_of_all() -> None:
    objects = named(render(EVERYTHING))

    scheduler = objects["ConfigMap", "demo-scheduler"]["data"]["gantt.conf"]
    assert "claim_ttl = 3600000\n" in scheduler
    assert "work_limit = 0.5" in scheduler
    assert "durability = always" in scheduler
    assert "claim_ttl" not in objects["ConfigMap", "demo-conductor"]["data"]["gantt.conf"]
    container = objects["Deployment", "demo-placement"]["spec"]["template"]["spec"]["containers"][0]
    assert container["args"][0] == "gantt-placement"
    assert container["image"] == f"registry.example.org/gantt@sha256:{'0' * 64}"
    assert objects["Service", "demo-placement"]["spec"]["ports"][0]["port"] == 8778


@pytest.mark.packages
def test_pods_are_scheduled_as_the_values_say() -> None:
    objects = named(render(EVERYTHING))

    specs = {
        name: document["spec"]["template"]["spec"]
        for (kind, name), document in objects.items()
        if kind in ("Deployment", "DaemonSet")
    }
    assert {pod["priorityClassName"] for pod in specs.values()} == {"system-cluster-critical"}
    assert [pod["imagePullSecrets"] for pod in specs.values()] == [[{"name": "registry"}]] * len(specs)
    assert {name: pod["nodeSelector"] for name, pod in specs.items() if "nodeSelector" in pod} == {
        "demo-compute": {"gantt": "compute"}
    }
    assert {name: pod["tolerations"] for name, pod in specs.items() if "tolerations" in pod} == {
        "demo-nova-bridge": [{"operator": "Exists"}]
    }


@pytest.mark.packages
def test_network_policy_admits_only_the_peers_of_the_values() -> None:
    policy = named(render(EVERYTHING))["NetworkPolicy", "demo"]["spec"]

    assert policy["policyTypes"] == ["Ingress"]
    assert policy["ingress"] == [
        {"ports": [{"port": "metrics"}], "from": [PEER]},
        {"ports": [{"port": "http"}], "from": [{"podSelector": {}}]},
    ]


@pytest.mark.packages
def test_wrong_values_stop_helm() -> None:
    helm = need_module("helm_python.chart")

    report = helm.lint(CHART, {"services": {"scheduler": {"replicas": 0}}}, strict=True)

    assert "replicas" in json.dumps(report)
    assert [message for message in report["messages"] if message["severity"] > 2]
