# SPDX-License-Identifier: Apache-2.0
"""A simulated hypervisor: its guests are small files that outlive the agent, its chance is seeded."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from compute_agent import state_files
from compute_agent.attempt import Ref
from compute_agent.journal import Clock, wall_ms
from compute_agent.profile import Profile

_SUFFIX = ".json"


class SpawnFailed(Exception):
    """Raised when a guest cannot be started; nothing of it is left."""


@dataclass(frozen=True, slots=True)
class Guest:
    """One guest; it is building until ``running_at_ms`` (Unix time) and runs from then on."""

    uuid: str
    attempt: int
    name: str
    running_at_ms: int

    @property
    def ref(self) -> Ref:
        """The attempt under which it was started."""
        return Ref(self.uuid, self.attempt)


class Hypervisor:
    """The guests of one service host. It refuses nothing for want of capacity: that is the tracker's part."""

    def __init__(self, folder: Path, profile: Callable[[], Profile], clock: Clock = wall_ms) -> None:
        self._folder = folder
        self._profile = profile
        self._clock = clock
        self._guests: dict[str, Guest] = {}

    def open(self) -> None:
        """Find the guests that are there; raises OSError, and ValueError for a file that is none of a guest."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if not path.name.startswith("."):
                guest = _read(path)
                self._guests[guest.uuid] = guest

    def list(self) -> list[Guest]:
        """Return all guests, building or running."""
        return list(self._guests.values())

    def get(self, ref: Ref) -> Guest | None:
        """Return the guest of an attempt, if it is there."""
        guest = self._guests.get(ref.uuid)
        return guest if guest is not None and guest.ref == ref else None

    def refuses(self, ref: Ref) -> bool:
        """Whether the host will not take this attempt, for reasons of its own."""
        return self._profile().refuses(ref)

    def spawn(self, ref: Ref, name: str) -> Guest:
        """Start a guest, or return the one that this attempt has already.

        Raises SpawnFailed; also when another attempt's guest of this instance is there, which must be stopped first.
        """
        there = self._guests.get(ref.uuid)
        if there is not None:
            if there.ref == ref:
                return there
            raise SpawnFailed(f"attempt {there.attempt} of the instance still runs on {there.name}")
        profile = self._profile()
        if profile.fails(ref):
            raise SpawnFailed("the simulated hypervisor could not start the guest")
        running_at = self._clock() + round(1000 * profile.boot_seconds(ref.uuid))
        guest = Guest(ref.uuid, ref.attempt, name, running_at)
        state_files.replace(self._path(ref.uuid), json.dumps(asdict(guest)))
        self._guests[ref.uuid] = guest
        return guest

    def stop(self, ref: Ref) -> None:
        """Stop the guest of an attempt; fine when it is not there, or is another attempt's."""
        if self.get(ref) is not None:
            self._path(ref.uuid).unlink(missing_ok=True)
            del self._guests[ref.uuid]

    def _path(self, uuid: str) -> Path:
        return self._folder / f"{uuid}{_SUFFIX}"


def _read(path: Path) -> Guest:
    try:
        return Guest(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a guest's file: {error}") from error
