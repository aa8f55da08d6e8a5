# SPDX-License-Identifier: Apache-2.0
"""Usages of projects, by type of consumer."""

import uuid

import pytest

from tests.unit.scheduler_svc.placement.http.test_allocations import OTHER, PATH, holding


@pytest.fixture
def provider(api):
    created = api.create("a")
    api.set_inventories(created, VCPU=8, DISK_GB=100)
    return created


def test_usages_of_a_project_are_summed_by_type(api, provider):
    api.call("PUT", PATH, holding(provider, VCPU=2))
    migration = holding(provider, VCPU=1, DISK_GB=5) | {"consumer_type": "MIGRATION", "user_id": "v"}
    api.call("PUT", f"/allocations/{OTHER}", migration)
    untyped = {key: value for key, value in holding(provider, VCPU=1).items() if key != "consumer_type"}
    api.call("PUT", f"/allocations/{uuid.uuid4()}", untyped, version="1.37")
    instances, migrations = {"consumer_count": 1, "VCPU": 2}, {"consumer_count": 1, "VCPU": 1, "DISK_GB": 5}
    unknown = {"consumer_count": 1, "VCPU": 1}
    expected = {
        "project_id=p": {"INSTANCE": instances, "MIGRATION": migrations, "unknown": unknown},
        "project_id=p&consumer_type=all": {"all": {"consumer_count": 3, "VCPU": 4, "DISK_GB": 5}},
        "project_id=p&consumer_type=MIGRATION": {"MIGRATION": migrations},
        "project_id=p&consumer_type=unknown": {"unknown": unknown},
        "project_id=p&user_id=v": {"MIGRATION": migrations},
        "project_id=none": {},
        "project_id=none&consumer_type=all": {},
    }
    assert {query: api.call("GET", f"/usages?{query}").json["usages"] for query in expected} == expected
    by_type = api.call("GET", "/usages?project_id=p", version="1.38").json["usages"]
    assert by_type.keys() == {"INSTANCE", "MIGRATION", "unknown"}
    assert api.call("GET", "/usages?project_id=p", version="1.37").json == {"usages": {"VCPU": 4, "DISK_GB": 5}}


@pytest.mark.parametrize("query", ["", "user_id=u", "project_id=", "project_id=p&consumer_type=instance"])
def test_usages_without_a_project_or_with_a_malformed_type_are_refused(api, query):
    assert api.call("GET", f"/usages?{query}").status == 400


def test_readers_see_the_usages_of_their_own_project(api):
    reader = {"user": "u:p", "HTTP_X_ROLES": "reader"}
    assert api.call("GET", "/usages?project_id=p", **reader).status == 200
    assert api.call("GET", "/usages?project_id=q", **reader).status == 403
    assert api.call("GET", "/usages?project_id=p", version="1.8", **reader).status == 404
