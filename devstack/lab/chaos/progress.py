# SPDX-License-Identifier: Apache-2.0
"""Progress of a campaign in a file, so that a run can be interrupted and continued."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from devstack.deploy.users.folder import write_private
from rpcapi.cli.command import CommandFailed

SCHEMA = 2


@dataclass
class Progress:
    """Figures of all finished segments of a campaign.

    ``missed`` counts drawn faults that did not occur, ``answers`` acknowledged calls by verb. ``recoveries`` are the
    seconds from the last repair of each burst until a new server was ACTIVE.
    """

    seed: int
    schema: int = SCHEMA
    segments: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    idle_faults: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    instances: int = 0
    claims: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    evidence: list[str] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)
    unrecovered: int = 0

    @property
    def fault_count(self) -> int:
        return sum(self.faults.values())

    def add(self, other: "Progress") -> None:
        for name in ("faults", "idle_faults", "missed", "answers", "violations"):
            getattr(self, name).update(getattr(other, name))
        for name in ("segments", "seconds", "instances", "claims", "unrecovered", "recoveries", "evidence"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def recovery(self, share: float) -> float:
        """Return the recovery time in seconds that this share of the bursts did not exceed; 0 without bursts."""
        ordered = sorted(self.recoveries)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def save(self, path: Path) -> None:
        write_private(path, json.dumps(vars(self), indent=1))

    @classmethod
    def load(cls, path: Path, seed: int) -> "Progress":
        """Read the file, or start from the beginning. Raises CommandFailed for a different seed or schema."""
        progress = cls.read(path) if path.exists() else cls(seed)
        if progress.seed != seed:
            raise CommandFailed(
                f"{path} is the progress of seed {progress.seed}: continue it with that seed, or name another file "
                f"with --state"
            )
        return progress

    @classmethod
    def read(cls, path: Path) -> "Progress":
        try:
            document = json.loads(path.read_text())
            counters = {name: Counter(value) for name, value in document.items() if isinstance(value, dict)}
            progress = cls(**{**document, **counters})
        except (OSError, ValueError, TypeError, AttributeError) as why:
            raise CommandFailed(f"{path} is not the progress of a chaos run: {why}") from why
        if progress.schema != SCHEMA:
            raise CommandFailed(f"{path} has schema {progress.schema}, this is schema {SCHEMA}: name another file")
        return progress
