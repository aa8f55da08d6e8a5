# SPDX-License-Identifier: Apache-2.0
"""Rules that are left out: the model finds what that breaks."""

from pathlib import Path

import pytest

from tests.model import rules
from tests.model.explore import explore
from tests.model.plans import ACROSS_TWICE, FAULTS, FENCES, PLANS, forgetting_all, with_faults
from tests.model.promises import LAST_COPY, NEVER_RESTS, NO_CLAIM, OLD_MEMORY, RUNS_TWICE, TWO_CLAIMS, WRONGLY_ENDED

DOCS = Path(__file__).parents[2] / "docs"

# By rule: the operation and the fault with which its absence is found, the promise, and the length of the trace.
FOUND = {
    "a comparison begins a forgotten move again": ("confirmed migration across partitions", "loss", NEVER_RESTS, 12),
    "a confirmed claim belongs to its host": ("delete", "late message", NO_CLAIM, 4),
    "a move ends once no destination has a claim": ("confirmed migration", "loss", TWO_CLAIMS, 28),
    "a doubtful deletion ends all claims": ("deleted migration across partitions", "loss", NEVER_RESTS, 9),
    "a forgotten move begins again": ("confirmed migration across partitions", "loss", RUNS_TWICE, 17),
    "a guest that followed a later message is not ended": ("live migration", "loss", LAST_COPY, 18),
    "a guest that is off for a move is reported again": ("confirmed migration", "loss", NEVER_RESTS, 11),
    "a return looks for other destinations first": (
        *("confirmed migration across partitions, an alternate", "loss"),
        *(RUNS_TWICE, 25),
    ),
    "agents audit before they act": ("evacuation", "failure", RUNS_TWICE, 10),
    "agents ignore late messages about moves": ("resize on the same host", "loss", WRONGLY_ENDED, 20),
    "an audit aborts unconfirmed claims": ("confirmed migration", "loss", RUNS_TWICE, 16),
    "audits restore roles": ("confirmed migration", "loss", LAST_COPY, 11),
    "a later attempt does not end its source": ("confirmed migration", "loss", LAST_COPY, 11),
    "ended attempts are not prepared": ("evacuation", "late message", NEVER_RESTS, 10),
    "an uncertain move has no alternate": ("reverted migration, an alternate", "loss", RUNS_TWICE, 26),
    "claims are looked for in other partitions": ("confirmed migration across partitions", "loss", RUNS_TWICE, 14),
    "isolated agents start nothing": ("evacuation", "failure", RUNS_TWICE, 10),
    "no claim is confirmed before the audit": ("confirmed migration", "loss", RUNS_TWICE, 15),
    "only an instance at rest leaves a leaked source": ("confirmed migration, an alternate", "loss", LAST_COPY, 24),
    "settling adopts unknown moves": ("confirmed migration", "loss", RUNS_TWICE, 10),
    "the destination keeps the guest until the source runs it": (
        *("reverted migration, an outage", "failure"),
        *(LAST_COPY, 13),
    ),
    "the source stops first": ("confirmed migration", "failure", RUNS_TWICE, 7),
    "unaudited claims are not aborted": ("evacuation", "loss", WRONGLY_ENDED, 12),
    "unaudited claims do not expire": ("evacuation", "loss", WRONGLY_ENDED, 13),
    "uncertain attempts are aborted in all partitions": (
        *("confirmed migration across partitions", "loss"),
        *(NEVER_RESTS, 15),
    ),
    "unknown attempts wait for audits": ("confirmed migration", "loss", RUNS_TWICE, 15),
}
# Where the partition forgets from the middle of one migration into the next: the promise, and the trace's length.
FOUND_BY_LOST_CLAIMS = {
    "a destination names its move": (WRONGLY_ENDED, 21),
    "a prepare contradicts no known move": (NEVER_RESTS, 22),
    "the end of a destination proves nothing of its source": (LAST_COPY, 26),
    "the end of an unknown attempt proves nothing": (WRONGLY_ENDED, 20),
}
# In the long form only: the plan is large.
FOUND_AT_LENGTH = {
    "a move that does not begin leaves the instance where it is": ("deleted migration", "crash", NEVER_RESTS, 26),
    "an ended migration never begins again": ("reverted migration, an outage", "late message", NEVER_RESTS, 22),
    "a guest that is off for another move is not started": ("two confirmed migrations", "loss", RUNS_TWICE, 31),
    "a move that has ended holds no guest": ("two confirmed migrations", "loss", NEVER_RESTS, 30),
    "a report of a later move settles the record": ("two confirmed migrations", "loss", NEVER_RESTS, 18),
    "step SETTLE follows a destination": (ACROSS_TWICE.name, "loss", NEVER_RESTS, 18),
    "a later attempt that is found settles": (ACROSS_TWICE.name, "loss", NEVER_RESTS, 18),
    "records in ERROR are looked for in other partitions": (ACROSS_TWICE.name, "loss", NEVER_RESTS, 29),
}
# Where a host is lost and fenced during the move: the plan, the promise, and the length of the trace.
FOUND_BY_FENCE = {
    "a confirm asks for the destination first": (FENCES[0], LAST_COPY, 14),
    "a return asks for the source last": (FENCES[1], LAST_COPY, 21),
    "a source boots if its destination may have run": (FENCES[5], OLD_MEMORY, 19),
}
# Where a store also forgets, in the long form.
FOUND_BY_FENCE_AND_LOSS = {
    "step SETTLE waits for hosts that may run the instance": (FENCES[1], NEVER_RESTS, 30),
}
_NO_TRACE = "no new or shorter trace with one fault"
# Where all stores forget at once: the operation, the promise, and the length of the trace.
FOUND_BY_LOSS_OF_ALL = {
    "another partition may have forgotten the other end": (
        *("confirmed migration across partitions", RUNS_TWICE),
        15,
    ),
}
# Rules whose absence is not found within the bounds.
UNSEEN = {
    "a build does not end the source of its move": f"{_NO_TRACE}: the number of the move spares the source too",
    "a guest that was only to be copied has not run": f"{_NO_TRACE}: it takes a loss and a late message",
    "a late build starts nothing": f"{_NO_TRACE}: the store refuses the late attempt too",
    "an old stop is no answer": f"{_NO_TRACE}, with one migration or two",
    "a later attempt ends the move before it": f"{_NO_TRACE}: it takes an evacuation after a resize, and amounts",
    "a source is a later attempt": f"{_NO_TRACE}: it takes an evacuation and a migration that the records forget",
    "an unknown claim gets a tombstone": _NO_TRACE,
    "no audit ends a reported claim": _NO_TRACE,
    "no claims before the audit": f"{_NO_TRACE}: it prevents excess, and the model has no amounts",
    "older attempts have ended": _NO_TRACE,
    "step SETTLE selects no alternate": f"{_NO_TRACE}: a destination that reports its stop returns",
    "the source of a move is not replaced": f"{_NO_TRACE}: it takes two losses",
    "unverified claims close their consumer": _NO_TRACE,
}


def test_every_rule_is_documented_and_planted() -> None:
    for name, rule in rules.RULES.items():
        assert rule.sentence in " ".join((DOCS / rule.page).read_text(encoding="utf-8").split()), name
    tables = (
        FOUND,
        FOUND_AT_LENGTH,
        FOUND_BY_FENCE,
        FOUND_BY_FENCE_AND_LOSS,
        FOUND_BY_LOSS_OF_ALL,
        FOUND_BY_LOST_CLAIMS,
        UNSEEN,
    )
    assert {rule for table in tables for rule in table} == {*rules.RULES}


@pytest.mark.sampled
@pytest.mark.timeout(300)
@pytest.mark.parametrize("rule", FOUND)
def test_its_absence_is_found(rule: str) -> None:
    check(rule, *FOUND[rule])


@pytest.mark.sampled
@pytest.mark.timeout(300)
@pytest.mark.parametrize("rule", FOUND_BY_LOST_CLAIMS)
def test_its_absence_is_found_in_the_second_of_two_migrations(rule: str) -> None:
    promise, length = FOUND_BY_LOST_CLAIMS[rule]
    plan = with_faults(PLANS["two confirmed migrations"], FAULTS["loss"])._replace(stores="store")
    with rules.leave_out(rule):
        trace = explore(plan, until=promise).traces[promise]
    assert len(trace) == length, "\n  ".join(trace)


@pytest.mark.parametrize("rule", FOUND_BY_FENCE)
def test_its_absence_is_found_by_a_fence(rule: str) -> None:
    plan, promise, length = FOUND_BY_FENCE[rule]
    with rules.leave_out(rule):
        trace = explore(plan, until=promise).traces[promise]
    assert len(trace) == length, "\n  ".join(trace)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("rule", FOUND_BY_FENCE_AND_LOSS)
def test_its_absence_is_found_by_a_fence_and_a_loss(rule: str) -> None:
    plan, promise, length = FOUND_BY_FENCE_AND_LOSS[rule]
    with rules.leave_out(rule):
        trace = explore(with_faults(plan, FAULTS["loss"]), until=promise).traces[promise]
    assert len(trace) == length, "\n  ".join(trace)


@pytest.mark.parametrize("rule", FOUND_BY_LOSS_OF_ALL)
def test_its_absence_is_found_where_all_stores_forget(rule: str) -> None:
    operation, promise, length = FOUND_BY_LOSS_OF_ALL[rule]
    with rules.leave_out(rule):
        trace = explore(forgetting_all(PLANS[operation]), until=promise).traces[promise]
    assert len(trace) == length, "\n  ".join(trace)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("rule", FOUND_AT_LENGTH)
def test_its_absence_is_found_at_length(rule: str) -> None:
    check(rule, *FOUND_AT_LENGTH[rule])


def check(rule: str, operation: str, fault: str, promise: str, length: int) -> None:
    """Assert that a promise is broken, by a trace of that length."""
    with rules.leave_out(rule):
        trace = explore(with_faults(PLANS[operation], FAULTS[fault]), until=promise).traces[promise]
    assert len(trace) == length, "\n  ".join(trace)
