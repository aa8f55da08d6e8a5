# SPDX-License-Identifier: Apache-2.0
"""Mappings over a partition's keys for verbs in Python: read on demand, and written by the verb's plan."""

import functools
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

from scheduler_svc.store import paging
from scheduler_svc.store.codecs import Codec
from scheduler_svc.store.redis.connect import RedisConnection

V = TypeVar("V")
COMPARED_BATCH = 1000  # fields that one command of a plan compares
Plan = Mapping[str, list[Any]]  # {section: rows}; see commit.lua


class RedisFields(MutableMapping[str, V]):
    """Fields of a hash. The verb's plan compares the fields that were read, and writes the fields that changed."""

    def __init__(self, connection: RedisConnection, word: str, codec: Codec) -> None:
        self._connection = connection
        self._word = word
        self._codec = codec
        self._texts: dict[str, str] = {}  # {name: stored text}; '' for a missing field
        self._values: dict[str, V | None] = {}  # {name: value, possibly changed by the verb}; None for a missing field

    def missing(self, names: Collection[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if name not in self._texts]

    def commands(self, names: Sequence[str]) -> list[Sequence[Any]]:
        return [("HMGET", self._word, *names)] if names else []

    def note(self, names: Sequence[str], answers: Iterator[Any]) -> None:
        self._texts.update(zip(names, (text or "" for text in (next(answers) if names else ())), strict=True))

    def __getitem__(self, name: str) -> V:
        if name not in self._values:
            self._values[name] = self.peek(name)
        value = self._values[name]
        if value is None:
            raise KeyError(name)
        return value

    def peek(self, name: str) -> V | None:
        """Return a field's value or None, without comparing the field at commit."""
        if name in self._values:
            return self._values[name]
        if name not in self._texts:
            self.note([name], iter(self._connection.read(*self.commands([name]))))
        return self._stored(name)

    def __setitem__(self, name: str, value: V) -> None:
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        self._values[name] = None

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError(f"no verb in Python lists all of {self._word}")

    def __len__(self) -> int:
        raise NotImplementedError(f"no verb in Python counts {self._word}")

    def compare(self, plan: Plan) -> None:
        for batch in paging.batches(self._compared(), COMPARED_BATCH):
            plan["reads"].append((digest(self._texts[name] for name in batch), *self.commands(batch)[0]))

    def _compared(self) -> list[str]:
        return [name for name in self._values if name in self._texts]

    def changes(self) -> Iterator[tuple[str, V | None, V | None]]:
        """Yield (name, old value, new value) of each changed field; None stands for a missing field."""
        for name, value in self._values.items():
            before = self._stored(name)
            if name not in self._texts or value != before:
                yield name, before, value

    def write(self, plan: Plan) -> None:
        for name, before, after in self.changes():
            self._write(plan, name, before, after)

    def _write(self, plan: Plan, name: str, _before: V | None, after: V | None) -> None:
        if after is None:
            plan["writes"].append(("HDEL", self._word, name))
        else:
            plan["writes"].append(("HSET", self._word, name, self._codec.encode(after)))

    def _stored(self, name: str) -> V | None:
        text = self._texts.get(name)
        return self._codec.decode(text) if text else None


class RedisRecords(RedisFields[V]):
    """Fields whose values are never changed in place, so that decoded values can be cached."""

    def __init__(self, connection: RedisConnection, word: str, codec: Codec) -> None:
        super().__init__(connection, word, Codec(codec.encode, functools.cache(codec.decode)))


class RedisPositions(RedisFields[int]):
    """Fields that verbs only write. Each value is a log position, which commit.lua shifts to the actual position."""

    def pop(self, name: str, default: Any = None) -> Any:
        del self[name]
        return default

    def _write(self, plan: Plan, name: str, before: int | None, after: int | None) -> None:
        if after is None:
            super()._write(plan, name, before, after)
        else:
            plan["positions"].append((self._word, name, after))


class RedisScores(RedisPositions):
    """{member: score} of a sorted set; verbs only write it."""

    def _write(self, plan: Plan, name: str, _before: int | None, after: int | None) -> None:
        if after is None:
            plan["writes"].append(("ZREM", self._word, name))
        else:
            plan["writes"].append(("ZADD", self._word, self._codec.encode(after), name))


class RedisMembers(RedisFields[bool]):
    """Members of a set, each with value True."""

    def commands(self, names: Sequence[str]) -> list[Sequence[Any]]:
        return [("SISMEMBER", self._word, name) for name in names]

    def note(self, names: Sequence[str], answers: Iterator[Any]) -> None:
        self._texts.update({name: "1" if next(answers) else "" for name in names})

    def compare(self, plan: Plan) -> None:
        for name in self._compared():
            plan["reads"].append((self._texts[name] or "0", *self.commands([name])[0]))

    def _write(self, plan: Plan, name: str, _before: bool | None, after: bool | None) -> None:
        plan["writes"].append(("SADD" if after else "SREM", self._word, name))


class RedisChildren(RedisFields[list[str]]):
    """{parent: children}, stored as a sorted set of "parent|child"."""

    def commands(self, names: Sequence[str]) -> list[Sequence[Any]]:
        return [("ZRANGEBYLEX", self._word, *range_below(name)) for name in names]

    def note(self, names: Sequence[str], answers: Iterator[Any]) -> None:
        self._texts.update({name: "\0".join(next(answers)) for name in names})

    def compare(self, plan: Plan) -> None:
        for name in self._compared():
            plan["reads"].append((digest([self._texts[name]]), *self.commands([name])[0]))

    def _write(self, plan: Plan, name: str, before: list[str] | None, after: list[str] | None) -> None:
        former, children = set(before or ()), set(after or ())
        plan["writes"] += [("ZREM", self._word, f"{name}|{child}") for child in former - children]
        plan["writes"] += [("ZADD", self._word, "0", f"{name}|{child}") for child in children - former]


def digest(texts: Iterable[str]) -> str:
    """Return the digest by which commit.lua compares an answer of several texts."""
    return hashlib.sha1("\0".join(texts).encode(), usedforsecurity=False).hexdigest()


def range_below(name: str) -> tuple[str, str]:
    """Return the lexical range of members "name|...": '}' is the byte after '|'."""
    return f"[{name}|", f"({name}}}"
