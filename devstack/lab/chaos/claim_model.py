# SPDX-License-Identifier: Apache-2.0
"""The sequential model of a claim's life, and the check of the store's writes against it.

Within an epoch a claim goes from nothing to prepared or, re-asserted by an audit, to confirmed; from prepared to
confirmed, aborted, expired or released; from confirmed to released or moved to another consumer. A fence ends either.
Ends are final. A new epoch
admits that the store forgot writes: the claim may be in any state in which it was before. The same holds for the first
write of another server: two may be primaries for a while, and each is sequential by itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from devstack.lab.chaos.history import ClaimSighting
from devstack.lab.chaos.violations import Violation, ViolationKind

NOTHING = "nothing"
MOVED = "moved"  # followed by the claim's next identity
ENDS = frozenset({"aborted", "expired", "fenced", "released", MOVED, "unknown"})  # unknown: ended before it existed
TRANSITIONS: Mapping[str, frozenset[str]] = {
    NOTHING: frozenset({"prepared", "confirmed", "unverified", *ENDS}),
    "prepared": frozenset({"confirmed", "aborted", "expired", "fenced", "released"}),
    "confirmed": frozenset({"fenced", "released", MOVED}),
    **{end: frozenset() for end in ENDS},
}


@dataclass(slots=True)
class _Life:
    """The possible states of an attempt on a server: one, or several after it may have forgotten writes."""

    possible: set[str]
    epoch: int


def check_claims(sightings: Iterable[ClaimSighting]) -> Iterator[Violation]:
    """Yield the writes that no sequential execution explains; ``sightings`` are sorted by their times."""
    epochs: dict[tuple[str, str], int] = {}
    past: dict[tuple[str, str, int], set[str]] = {}  # the states of an attempt on any server
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
        violation = _violation(life, sighting, epoch)
        if violation is not None:
            yield violation
        life.possible = {sighting.state}
        states.add(sighting.state)


def _violation(life: _Life, sighting: ClaimSighting, epoch: int) -> Violation | None:
    is_repetition = sighting.state in life.possible
    if is_repetition or any(_word(sighting.state) in TRANSITIONS.get(_word(state), ()) for state in life.possible):
        return None
    before = " or ".join(sorted(life.possible))
    is_double = _word(sighting.state) in ENDS and all(_word(state) in ENDS for state in life.possible)
    kind = ViolationKind.DOUBLE_END if is_double else ViolationKind.ILLEGAL
    return Violation(
        kind,
        sighting.consumer,
        f"attempt {sighting.attempt} in partition {sighting.partition}, epoch {epoch}: {before} -> {sighting.state} "
        f"at {sighting.at:.3f} s",
    )


def _word(state: str) -> str:
    """Return a state without the identity to which the claim was moved."""
    return state.partition(" ")[0]
