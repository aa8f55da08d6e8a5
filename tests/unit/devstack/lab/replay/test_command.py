# SPDX-License-Identifier: Apache-2.0
"""lab.sh replay: no overcommit, every request is counted, and consistency with the oracle."""

import pytest

from tests.support import asking
from tests.unit.devstack.lab.replay.traces import write

SERVERS = 300
DRIVERS = ("filter", "nova", "pack", "chance")
AMPLE_WORK = "1000000000"  # the most that is allowed: each batch is solved to its end


def by_driver(rows):
    """Return the rows as {driver: {what: row}}."""
    result = {}
    for row in rows:
        driver, _, what = row["name"].partition(": ")
        result.setdefault(driver, {})[what] = row
    return result


def replay(*argv, servers=SERVERS):
    """Return the rows of a replay of generated requests, after checking their consistency."""
    rows_by_driver = by_driver(asking.run_json("replay", "--synthetic", "--limit", str(servers), *argv))
    for rows in rows_by_driver.values():
        for row in rows.values():
            assert row["overcommit"] == 0
            assert row["placed"] + row["refused"] == servers
        oracle_row = rows["placed, beside the oracle"]
        assert (
            oracle_row["placed"] - oracle_row["oracle_placed"]
            == oracle_row["placed_oracle_refused"] - oracle_row["refused_oracle_placed"]
        )
        assert rows["overcommit"]["ok"]
        assert 0 <= rows["score regret"]["ratio"] <= 1
        assert 0 <= rows["density, mean of cpu and memory"]["ratio"] <= 1
    return rows_by_driver


@pytest.fixture(scope="module")
def rows():
    return replay("--drivers", ",".join(DRIVERS))


def test_all_drivers_are_replayed_on_the_same_hosts(rows):
    assert tuple(rows) == DRIVERS
    assert len({rows[driver]["overcommit"]["hosts"] for driver in DRIVERS}) == 1


def test_first_refusal_is_reported_when_hosts_match_the_peak(rows):
    oracle_row = rows["nova"]["placed, beside the oracle"]
    assert 0 < oracle_row["refused"] < SERVERS
    assert 1 <= oracle_row["first_refusal_request"] <= SERVERS
    assert 0 < oracle_row["first_refusal_fill"] <= 1


def test_single_up_to_date_worker_decides_like_the_oracle(rows):
    for driver in ("filter", "nova", "pack"):
        oracle_row = rows[driver]["placed, beside the oracle"]
        assert oracle_row["ratio"] == 1
        assert (
            oracle_row["refused_oracle_placed"]
            == oracle_row["placed_oracle_refused"]
            == oracle_row["refused_with_room"]
            == 0
        )
        assert rows[driver]["score regret"]["ratio"] == 0
    assert rows["chance"]["score regret"]["ratio"] > 0, "chance does not choose the best hosts"


def test_packing_is_denser_and_leaves_hosts_empty():
    # Given many more hosts than needed
    rows_by_driver = replay("--fill", "0.3", "--drivers", "filter,pack")
    spread, packed = (rows_by_driver[driver]["density, mean of cpu and memory"] for driver in ("filter", "pack"))
    assert packed["ratio"] > spread["ratio"]
    assert packed["empty_hosts_mean"] > 0
    assert rows_by_driver["filter"]["placed, beside the oracle"]["first_refusal_request"] == 0, "nothing was refused"


def test_solver_places_simultaneous_arrivals_in_one_batch():
    rows_by_driver = replay("--fill", "0.5", "--drivers", "pack,solver,solver-pack", "--solver-work", AMPLE_WORK)
    placements = {driver: rows["overcommit"]["placed"] for driver, rows in rows_by_driver.items()}
    assert placements["solver-pack"] >= placements["pack"], "batches place no fewer servers than single requests"
    empty_hosts = {
        driver: rows["density, mean of cpu and memory"]["empty_hosts_mean"] for driver, rows in rows_by_driver.items()
    }
    assert empty_hosts["solver-pack"] > empty_hosts["solver"], "packing leaves more hosts empty than spreading"


def test_batches_can_be_requested_together():
    rows_by_driver = replay("--together", "--drivers", "filter", "--hosts", "9")
    assert rows_by_driver["filter"]["overcommit"]["hosts"] == 9


def test_no_overcommit_on_redis():
    rows_by_driver = replay("--through", "redis", "--drivers", "filter", "--hosts", "3", servers=60)
    assert rows_by_driver["filter"]["placed, beside the oracle"]["placed"] > 0


def test_trace_file_is_replayed_and_plotted(tmp_path):
    trace = write(tmp_path / "mine.csv", *[f"{300 * number},{number},4,8,900,900,0" for number in range(20)])
    picture = tmp_path / "replay.png"
    argv = ("replay", str(trace), "--drivers", "pack", "--hosts", "1", "--plot", str(picture))
    rows_by_driver = by_driver(asking.run_json(*argv))["pack"]
    assert rows_by_driver["overcommit"]["placed"] == 20, (
        "ended servers free their resources: there are never more than four at once"
    )
    assert rows_by_driver["density, mean of cpu and memory"]["empty_hosts_mean"] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--drivers", "bogus"], "no entry point 'bogus'"),
        (["--synthetic", "--limit", "all"], "endless"),
        (["absent.csv", "--synthetic"], "not both"),
        (["/dev/null/absent.csv"], "cannot be read"),
    ],
)
def test_invalid_arguments_are_reported(argv, message):
    code, out, err = asking.run("replay", *argv)
    assert code == 1
    assert message in err
    assert not out


def test_malformed_row_fails_before_anything_is_placed(tmp_path):
    trace = write(tmp_path / "t.csv", "0,1,1,1,0,0,0", "0,1,1,much,0,0,0")
    code, _, err = asking.run("replay", str(trace))
    assert code == 1
    assert "line 3" in err
