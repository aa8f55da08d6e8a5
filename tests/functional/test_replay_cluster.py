# SPDX-License-Identifier: Apache-2.0
"""lab.sh replay on a whole cluster: the conductor builds and deletes the servers of the trace."""

import pytest

from tests.support import asking

SERVERS = 60


@pytest.mark.long
@pytest.mark.parametrize("together", [[], ["--together"]], ids=["one-by-one", "together"])
def test_replay_accounts_for_every_request_without_overcommit(together):
    argv = ("--synthetic", "--limit", str(SERVERS), "--through", "cluster", "--drivers", "filter", "--hosts", "3")
    rows = asking.run_json("replay", *argv, *together)
    for row in rows:
        assert row["overcommit"] == 0
        assert row["placed"] + row["refused"] == SERVERS
    assert rows[0]["placed"] > 0
