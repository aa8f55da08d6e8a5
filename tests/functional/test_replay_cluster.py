# SPDX-License-Identifier: Apache-2.0
"""gantt-lab replay through a whole cluster: the conductor builds and deletes what the trace asks for."""

import pytest

from tests.unit.devstack.lab import asking

SERVERS = 60


@pytest.mark.long
@pytest.mark.parametrize("together", [[], ["--together"]], ids=["one-by-one", "together"])
def test_every_request_is_accounted_for_and_nothing_is_sold_twice(together):
    argv = ("--synthetic", "--limit", str(SERVERS), "--through", "cluster", "--drivers", "filter", "--hosts", "3")
    rows = asking.run_json("replay", *argv, *together)
    for row in rows:
        assert row["overcommit"] == 0
        assert row["placed"] + row["refused"] == SERVERS
    assert rows[0]["placed"] > 0
