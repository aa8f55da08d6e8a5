# SPDX-License-Identifier: Apache-2.0
"""Rows in the flat arguments and answers of scripts."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from conductor.store import documents
from conductor.store.interface import CHUNK
from conductor.store.records import InstanceRecord


def script_row(record: InstanceRecord) -> tuple[str | int, ...]:
    """Return the arguments of write.lua for one record."""
    body = documents.dump_instance(record)
    values = (record.uuid, record.version, record.status.value, record.step.value, record.wake_ms, body)
    migration = record.migration
    if migration is None:
        return *values, "", "", ""
    return *values, migration.uuid, documents.dump_migration(migration), int(migration.has_ended)


def split_rows(size: int, flat: Iterable) -> Iterator[tuple]:
    """Yield rows of ``size`` words of a flat answer."""
    words = iter(flat)
    while row := tuple(islice(words, size)):
        yield row


def chunks(items: Sequence) -> Iterator[list]:
    """Return the items in lists of at most CHUNK: what one script reads or writes."""
    return (list(items[start : start + CHUNK]) for start in range(0, len(items), CHUNK))
