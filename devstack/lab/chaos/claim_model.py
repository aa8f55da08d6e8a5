# SPDX-License-Identifier: Apache-2.0
"""Sequential model of a claim's states, and the check of the store's writes against it.

End states are final. After a new epoch, or in the first write of a different server, a claim may be in any of its
earlier states: the store may have lost writes, and two primaries may coexist, each sequential by itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from devstack.lab.chaos.history import ClaimSighting
from devstack.lab.chaos.violations import Violation, ViolationKind

NOTHING = "nothing"
SOURCE = "source"  # confirmed, and the source of a migration
ENDS = frozenset({"aborted", "expired", "fenced", "released", "unknown"})  # unknown: ended before it existed
TRANSITIONS: Mapping[str, frozenset[str]] = {
    NOTHING: frozenset({"prepared", "confirmed", SOURCE, "unverified", *ENDS}),
    "prepared": frozenset({"confirmed", "aborted", "expired", "fenced", "released"}),
    "confirmed": frozenset({SOURCE, "fenced", "released"}),
    SOURCE: frozenset({"confirmed", "fenced", "released"}),
    **{end: frozenset() for end in ENDS},
}


@dataclass(slots=True)
class _Life:
    """Possible states of an attempt at one server; several after the server may have lost writes."""

    possible: set[str]
    epoch: int


def check_claims(sightings: Iterable[ClaimSighting]) -> Iterator[Violation]:
    epochs: dict[tuple[str, str], int] = {}
    past: dict[tuple[str, str, int], set[str]] = {}  # states of an attempt at all servers
    lives: dict[tuple[str, str, str, int], _Life] = {}
    for sighting in sorted(sightings, key=lambda sighting: sighting.at):
        if not sighting.consumer:
            epochs[sighting.partition, sighting.server] = sighting.epoch
            continue
        states = past.setdefault((sighting.partition, sighting.consumer, sighting.attempt), {NOTHING})
        epoch = epochs.get((sighting.partition, sighting.server), 0)
        key = (sighting.partition, sighting.server, sighting.consumer, sighting.attempt)
        life = lives.setdefault(key, _Life(set(states), epoch))
        if life.epoch != epoch:
            life.possible, life.epoch = set(states), epoch
        # An audit in a new epoch makes a claim the source that it was before.
        is_restored = sighting.state == SOURCE and SOURCE in states and life.possible == {"prepared"}
        violation = None if is_restored else _violation(life, sighting, epoch)
        if violation is not None:
            yield violation
        life.possible = {sighting.state}
        states.add(sighting.state)


def _violation(life: _Life, sighting: ClaimSighting, epoch: int) -> Violation | None:
    is_repetition = sighting.state in life.possible
    if is_repetition or any(sighting.state in TRANSITIONS.get(state, ()) for state in life.possible):
        return None
    before = " or ".join(sorted(life.possible))
    is_double = sighting.state in ENDS and life.possible <= ENDS
    kind = ViolationKind.DOUBLE_END if is_double else ViolationKind.ILLEGAL
    return Violation(
        kind,
        sighting.consumer,
        f"attempt {sighting.attempt} in partition {sighting.partition}, epoch {epoch}: {before} -> {sighting.state} "
        f"at {sighting.at:.3f} s",
    )
