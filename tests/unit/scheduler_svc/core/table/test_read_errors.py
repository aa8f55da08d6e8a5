# SPDX-License-Identifier: Apache-2.0
"""Errors for keys that are not state columns."""

import operator

import pytest

from scheduler_svc.core.namespaces.registry import COMPOSED
from scheduler_svc.core.table.read_errors import MEMBERS, explain_key, explain_namespace
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node

READS = {"compute": frozenset({"metrics.cpu.percent", "traits"}), "aggregate": frozenset({"hosts"})}


@pytest.fixture
def table():
    return hosts.table({"a": node(metrics={"cpu.percent": 30.0})}, reads=READS)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda view: view.state("compute", "traits"), "use view.hosts.has_all"),
        (lambda view: view.state_is("compute", "availability_zone", "az1"), "use view.in_zone"),
        (lambda view: view.state_contains("aggregate", "hosts", "a"), "use view.aggregates.members"),
        (lambda view: view.state("compute", "metrics"), "use view.state.'compute', 'metrics.NAME'."),
        (lambda view: view.state("service", "enabled"), "use view.services.enabled"),
        (lambda view: view.state("service", "disabled_reason"), "not stored by workers; a view has alive, enabled"),
        (lambda view: view.documents("compute"), r"view.in_zone \(availability_zone\)"),
    ],
)
def test_error_for_a_composed_key_names_the_member_that_has_it(table, read, message):
    with table.reading() as view, pytest.raises(LookupError, match=message) as error:
        read(view)
    assert "list it in the reads" not in str(error.value)


@pytest.mark.parametrize(("namespace", "key"), [(name, key) for name, keys in MEMBERS.items() for key in keys])
def test_members_named_in_errors_exist(table, namespace, key):
    with table.reading() as view:
        for member in MEMBERS[namespace][key].split("(")[0].split(" or "):
            assert operator.attrgetter(member)(view) is not None


@pytest.mark.parametrize(
    ("namespace", "key", "text"),
    [
        ("rack", "watts", "list it in the reads of the filter or weigher"),
        ("compute", "metrics.heat", "list it in the reads of the filter or weigher"),
        ("compute", "traits", "use view.hosts.has_all"),
        ("compute", "colour", "is not stored by workers"),
    ],
)
def test_error_says_what_to_do_about_a_key(namespace, key, text):
    explanation = explain_key(namespace, key)
    assert text in explanation
    assert f"key {key!r} of namespace {namespace!r}" in explanation


def test_error_says_what_to_do_about_a_namespace():
    assert explain_namespace("rack") == (
        "namespace 'rack' is not stored: list it in the reads of the filter or weigher"
    )
    for namespace in COMPOSED:
        for key, member in MEMBERS[namespace].items():
            assert f"view.{member} ({key})" in explain_namespace(namespace)
