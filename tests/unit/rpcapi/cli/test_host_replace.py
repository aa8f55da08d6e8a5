# SPDX-License-Identifier: Apache-2.0
"""``gantt host replace``."""

import pytest


@pytest.fixture
def audited(cluster):
    cluster.scheduler.service("host1", audited=True)
    return cluster


def test_replacing_a_host_with_claims_explains_and_does_nothing(audited, gantt):
    audited.claims.claim("a", host="host1/node1")
    result = gantt("host", "replace", "host1")
    assert (result.code, audited.claims.replaced) == (1, [])
    assert result.err == (
        "Replacing host1 means: the former machine is gone for good; its claims end; its guests are lost to gantt. "
        "Use --yes to confirm\n"
    )
    result = gantt("host", "replace", "host1", "--yes")
    assert (result.code, audited.claims.replaced, audited.claims.fenced) == (0, ["host1"], [])
    assert "host1 may be replaced: 1 claims ended" in result.err


def test_empty_host_is_replaced_at_once(audited, gantt):
    audited.claims.hosts.add("host1")
    result = gantt("host", "replace", "host1")
    assert (result.code, audited.claims.replaced) == (0, ["host1"])


def test_host_that_has_not_audited_may_have_claims(cluster, gantt):
    cluster.scheduler.service("host1", audited=False)
    cluster.claims.hosts.add("host1")
    assert gantt("host", "replace", "host1").code == 1
    assert gantt("host", "replace", "host1", "--yes").code == 0
    assert cluster.claims.replaced == ["host1"]


def test_unknown_host_is_no_longer_awaited(cluster, gantt):
    assert gantt("host", "replace", "host9").code == 1
    result = gantt("host", "replace", "host9", "--yes")
    assert (result.code, cluster.scheduler.removed) == (0, ["host9"])
    assert "Host host9 is unknown; it is no longer awaited" in result.err
