# SPDX-License-Identifier: Apache-2.0
"""gantt-lab replay: nothing is sold twice, every request is accounted for, and the oracle is never worse at its own."""

import pytest

from tests.unit.devstack.lab import asking
from tests.unit.devstack.lab.replay.traces import write

SERVERS = 300
DRIVERS = ("filter", "pack", "chance")


def by_driver(rows):
    """Return the rows as {driver: {what: row}}."""
    found = {}
    for row in rows:
        driver, _, what = row["name"].partition(": ")
        found.setdefault(driver, {})[what] = row
    return found


def replay(*argv, servers=SERVERS):
    """Return the rows of a replay of made-up requests, which must hold together."""
    found = by_driver(asking.run_json("replay", "--synthetic", "--limit", str(servers), *argv))
    for rows in found.values():
        for row in rows.values():
            assert row["overcommit"] == 0
            assert row["placed"] + row["refused"] == servers
        beside = rows["placed, beside the oracle"]
        assert (
            beside["placed"] - beside["oracle_placed"]
            == beside["placed_oracle_refused"] - beside["refused_oracle_placed"]
        )
        assert rows["overcommit"]["ok"]
        assert 0 <= rows["score regret"]["ratio"] <= 1
        assert 0 <= rows["density, mean of cpu and memory"]["ratio"] <= 1
    return found


@pytest.fixture(scope="module")
def rows():
    return replay()


def test_all_drivers_are_put_through_it_side_by_side(rows):
    assert tuple(rows) == DRIVERS
    assert len({rows[driver]["overcommit"]["hosts"] for driver in DRIVERS}) == 1


def test_with_hosts_for_no_more_than_the_peak_some_are_refused_and_the_first_is_told_of(rows):
    beside = rows["filter"]["placed, beside the oracle"]
    assert 0 < beside["refused"] < SERVERS
    assert 1 <= beside["first_refusal_request"] <= SERVERS
    assert 0 < beside["first_refusal_fill"] <= 1


def test_one_worker_that_knows_all_decides_as_the_oracle_does(rows):
    for driver in ("filter", "pack"):
        beside = rows[driver]["placed, beside the oracle"]
        assert beside["ratio"] == 1
        assert beside["refused_oracle_placed"] == beside["placed_oracle_refused"] == beside["refused_with_room"] == 0
        assert rows[driver]["score regret"]["ratio"] == 0
    assert rows["chance"]["score regret"]["ratio"] > 0, "chance does not choose the best"


def test_packing_is_denser_and_leaves_hosts_empty():
    # Given many more hosts than are needed
    roomy = replay("--fill", "0.3", "--drivers", "filter,pack")
    spread, packed = (roomy[driver]["density, mean of cpu and memory"] for driver in ("filter", "pack"))
    assert packed["ratio"] > spread["ratio"]
    assert packed["empty_hosts_mean"] > 0
    assert roomy["filter"]["placed, beside the oracle"]["first_refusal_request"] == 0, "nobody was refused"


def test_the_solver_places_what_arrives_together_in_one_batch():
    found = replay("--drivers", "pack,solver,solver-pack", "--solver-limit", "50")
    placed = {driver: rows["overcommit"]["placed"] for driver, rows in found.items()}
    assert placed["solver-pack"] >= placed["pack"], "its batches serve no fewer than one by one"
    used = {driver: rows["density, mean of cpu and memory"]["empty_hosts_mean"] for driver, rows in found.items()}
    assert used["solver-pack"] > used["solver"], "packing leaves more hosts empty than spreading"


def test_batches_can_be_asked_for_together():
    found = replay("--together", "--drivers", "filter", "--hosts", "9")
    assert found["filter"]["overcommit"]["hosts"] == 9


def test_on_a_redis_nothing_is_sold_twice_either():
    found = replay("--through", "redis", "--drivers", "filter", "--hosts", "3", servers=60)
    assert found["filter"]["placed, beside the oracle"]["placed"] > 0


def test_a_trace_is_read_from_its_file_and_drawn(tmp_path):
    trace = write(tmp_path / "mine.csv", *[f"{300 * number},{number},4,8,900,900,0" for number in range(20)])
    picture = tmp_path / "replay.png"
    argv = ("replay", str(trace), "--drivers", "pack", "--hosts", "1", "--plot", str(picture))
    found = by_driver(asking.run_json(*argv))["pack"]
    assert found["overcommit"]["placed"] == 20, "who leaves makes room: never are more than four there at once"
    assert found["density, mean of cpu and memory"]["empty_hosts_mean"] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--drivers", "bogus"], "no entry point 'bogus'"),
        (["--synthetic", "--limit", "all"], "no end"),
        (["absent.csv", "--synthetic"], "not both"),
        (["/dev/null/absent.csv"], "cannot be read"),
    ],
)
def test_what_cannot_be_replayed_is_told_of(argv, says):
    code, out, err = asking.run("replay", *argv)
    assert code == 1
    assert says in err
    assert not out


def test_a_malformed_row_ends_it_before_anything_is_placed(tmp_path):
    trace = write(tmp_path / "t.csv", "0,1,1,1,0,0,0", "0,1,1,much,0,0,0")
    code, _, err = asking.run("replay", str(trace))
    assert code == 1
    assert "line 3" in err
