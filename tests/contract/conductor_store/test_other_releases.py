# SPDX-License-Identifier: Apache-2.0
"""What a newer release wrote is refused, and listed by its header."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import redis

from conductor.instances import get_instances, list_hosts, list_instances
from conductor.migrations import list_migrations
from conductor.store import documents, keys
from conductor.store.documents import UNREADABLE_ATTEMPT
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from devstack.servers.redis import RedisServer
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus, MigrationKind
from tests.support.conductor.bench import StoreWithClock, redis_bench, request
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.simulated_cluster import uuid_list

FIRST, NEWER, LAST = uuid_list(3)
MIGRATION = MigrationRecord("m", NEWER, MigrationKind.RESIZE, source_host="h/n", request_id="req-m")


def instance_text(*, status: str = "ACTIVE", step: str = "done", **changes: Any) -> str:
    record = InstanceRecord(uuid="u", request="req", migration=MIGRATION)
    body = json.loads(documents.dump_instance(record)) | changes
    return f"req {status} {step} 0 1 5 6 7\n{json.dumps(body)}"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"status": "PAUSED"}, "Instance u was written by a newer release: its status is 'PAUSED'.* only SCHEDULING"),
        ({"step": "resize"}, "Instance u .* its step is 'resize'"),
        ({"color": "red", "size": 1}, "Instance u .* does not know its color, size"),
        ({"schema": 2}, "Instance u .* schema 2; this conductor supports 1"),
        ({"migration": {"kind": "teleport", "status": "finished"}}, "Instance u .* kind of migration is 'teleport'"),
        ({"migration": {"kind": "resize", "status": "lost"}}, "Instance u .* status of migration is 'lost'"),
        ({"migration": {"kind": "resize", "status": "error", "via": 1}}, "Instance u .* does not know its via"),
    ],
)
def test_instance_of_a_newer_release_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(errors.NewerRecord, match=f"{why}.*Upgrade all gantt-conductor services"):
        documents.load_instance("u", instance_text(**changes))


def test_request_and_migration_of_a_newer_release_are_refused() -> None:
    text = documents.dump_request(request())
    with pytest.raises(errors.NewerRecord, match=r"Request req .* does not know its priority"):
        documents.load_request("req", text[:-1] + ',"priority":1}')
    text = f"1 2 3\n{documents.dump_migration(MIGRATION)}"
    with pytest.raises(errors.NewerRecord, match=r"Migration m .* does not know its rate"):
        documents.load_migration("m", text[:-1] + ',"rate":1}')


# -- in the store ----------------------------------------------------------------------------------------------


@pytest.fixture
def bench(redis_server: RedisServer) -> Iterator[StoreWithClock]:
    """A store with three instances and a migration, the second instance of which a newer release has written."""
    for bench in redis_bench(redis_server, redis_server.url()):
        bench.store.record(request(), [FIRST, NEWER, LAST])
        record = replace(bench.store.get([NEWER])[NEWER], migration=MIGRATION)
        bench.store.write_without_lease([record], wake=False)
        with redis.Redis.from_url(redis_server.url(), decode_responses=True) as raw:
            rewrite(raw, "instances", NEWER, " SCHEDULING ", " PAUSED ")
            rewrite(raw, "migrations", "m", '"preparing"', '"queued"')
        yield bench


def rewrite(raw: Any, word: str, field: str, old: str, new: str) -> None:
    text = raw.hget(keys.key(word), field)
    assert old in text
    raw.hset(keys.key(word), field, text.replace(old, new))


def test_page_shows_the_header_of_what_a_newer_release_wrote(bench: StoreWithClock) -> None:
    page = list_instances(bench.store, None, 10, deleted=False)
    assert [instance.uuid for instance in page.instances] == [FIRST, NEWER, LAST]
    shown = page.instances[1]
    assert (shown.status, shown.request_id, shown.host, shown.attempt) == (
        *("PAUSED", "req-req", None),
        UNREADABLE_ATTEMPT,
    )
    assert "its status is 'PAUSED'" in shown.reason
    own = list_instances(bench.store, None, 10, deleted=False, project="p")
    assert [instance.uuid for instance in own.instances] == [FIRST, NEWER, LAST]
    # pages go on after it
    second = list_instances(bench.store, list_instances(bench.store, None, 2, deleted=False).marker, 2, deleted=False)
    assert [instance.uuid for instance in second.instances] == [LAST]


def test_instances_of_a_request_that_a_newer_release_wrote_are_listed(
    bench: StoreWithClock, redis_server: RedisServer
) -> None:
    with redis.Redis.from_url(redis_server.url(), decode_responses=True) as raw:
        rewrite(raw, "requests", "req", '"schema":1', '"schema":2')
    page = list_instances(bench.store, None, 10, deleted=False)
    assert [(row.uuid, row.request_id, row.project_id) for row in page.instances] == [
        (uuid, "", "") for uuid in (FIRST, NEWER, LAST)
    ]
    assert not list_instances(bench.store, None, 10, deleted=False, project="p").instances, "its owner is not known"


def test_calls_about_what_a_newer_release_wrote_are_refused(bench: StoreWithClock) -> None:
    with pytest.raises(errors.NewerRecord, match=f"Instance {NEWER} "):
        get_instances(make_conductor(bench.store), [FIRST, NEWER])
    with pytest.raises(errors.NewerRecord, match=f"Instance {NEWER} "):
        list_hosts(bench.store, "default")
    (lease,) = bench.store.take("me", 1)
    with pytest.raises(errors.NewerRecord):
        bench.store.load(lease)
    assert bench.store.get([FIRST, LAST]).keys() == {FIRST, LAST}


def test_page_of_migrations_shows_the_words_of_one_that_a_newer_release_wrote(bench: StoreWithClock) -> None:
    (shown,) = list_migrations(bench.store, None, 10).migrations
    assert (shown.uuid, shown.instance, shown.kind, shown.status) == ("m", NEWER, "resize", "queued")
    assert "its status of migration is 'queued'" in shown.reason
    with pytest.raises(errors.NewerRecord, match="Migration m "):
        bench.store.migrations(["m"])


def test_words_of_this_release_are_all_read() -> None:
    for status in InstanceStatus:
        for step in SagaStep:
            instance = documents.load_instance("u", instance_text(status=status, step=step))
            assert (instance.status, instance.step) == (status, step)
