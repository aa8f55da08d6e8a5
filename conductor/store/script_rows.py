# SPDX-License-Identifier: Apache-2.0
"""Flat arguments and answers of scripts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from conductor.store import documents
from conductor.store.interface import CHUNK
from conductor.store.records import InstanceRecord


def script_row(record: InstanceRecord) -> tuple[str | int, ...]:
    body = documents.dump_instance(record)
    values = (record.uuid, record.version, record.status.value, record.step.value, record.wake_ms, body)
    migration, amounts = record.migration, amounts_text(record.amounts or {})
    if migration is None:
        return *values, "", "", "", amounts
    return *values, migration.uuid, documents.dump_migration(migration), int(migration.has_ended), amounts


def amounts_text(amounts: Mapping[str, int]) -> str:
    return " ".join(f"{name}={amount}" for name, amount in amounts.items())


def split_rows(size: int, flat: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield rows of ``size`` words from a flat answer."""
    words = iter(flat)
    while row := tuple(islice(words, size)):
        yield row


def chunks(items: Sequence[Any]) -> Iterator[list[Any]]:
    return (list(items[start : start + CHUNK]) for start in range(0, len(items), CHUNK))
