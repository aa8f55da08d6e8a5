# SPDX-License-Identifier: Apache-2.0
"""Every acknowledged act on every kind of store that forgets it, by its servers' own failure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from tests.regressions import forgotten_claim_acts, forgotten_group_acts, forgotten_operator_acts, forgotten_record_acts
from tests.regressions.forgetful_kinds import KINDS, opened_stores
from tests.regressions.forgotten_record_acts import RecordCluster
from tests.support.conductor.simulated_cluster import uuid_list
from tests.support.stride import in_turn

Steps = Iterator[None]
Act = Callable[..., Steps]
STORE_ACTS: tuple[Act, ...] = (*forgotten_claim_acts.ACTS, *forgotten_group_acts.ACTS, *forgotten_operator_acts.ACTS)
RECORD_ACTS: tuple[Act, ...] = forgotten_record_acts.ACTS
ALWAYS = ("memory", "redis")
# Those whose servers take long to start and to fail.
IN_TURN = in_turn([kind for kind in KINDS if kind not in ALWAYS])
SQL = ("sqlite", "postgresql")  # in which conductors record nothing
END = object()


@pytest.fixture(scope="module")
def forgotten(request: pytest.FixtureRequest) -> Iterator[dict[Act, Steps]]:
    """The last part of each act, after the stores forgot all of them at once."""
    with opened_stores(request.param) as stores:
        steps = {act: act(stores) for act in STORE_ACTS}
        steps_on_records: dict[Act, Steps] = {}
        if request.param not in SQL:
            cluster = RecordCluster(stores)
            uuids = uuid_list(len(RECORD_ACTS))
            steps_on_records = {act: act(cluster, uuid) for act, uuid in zip(RECORD_ACTS, uuids, strict=True)}
        steps |= steps_on_records
        advance(steps, steps)
        stores.keep()
        advance(steps, reversed(steps))
        stores.forget()
        advance(steps, steps_on_records)
        if steps_on_records:
            cluster.audit()
        yield steps


def advance(steps: dict[Act, Steps], acts: Iterable[Act]) -> None:
    """Do the next part of each act; what fails now fails in the act's own test."""
    for act in acts:
        try:
            next(steps[act])
        except (Exception, pytest.fail.Exception) as error:
            steps[act] = failure(error)


def failure(error: BaseException) -> Steps:
    """Return the rest of an act that has failed."""
    raise error
    yield


def on_kinds(kinds: Sequence[Any], acts: Sequence[Act]) -> Callable[[Any], Any]:
    """Parametrize a test by store and act, so that the acts of a kind follow each other."""
    by_act = pytest.mark.parametrize("act", acts, ids=lambda act: act.__name__)
    by_kind = pytest.mark.parametrize("forgotten", kinds, indirect=True, scope="module")
    return lambda test: by_act(by_kind(test))


@on_kinds([*ALWAYS, *IN_TURN], STORE_ACTS)
def test_act_on_a_partition(forgotten: dict[Act, Steps], act: Act) -> None:
    assert next(forgotten[act], END) is END


@on_kinds([*ALWAYS, *(kind for kind in IN_TURN if kind.values[0] not in SQL)], RECORD_ACTS)
def test_act_on_records(forgotten: dict[Act, Steps], act: Act) -> None:
    assert next(forgotten[act], END) is END
