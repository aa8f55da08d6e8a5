# SPDX-License-Identifier: Apache-2.0
"""Documents of the conductor's store."""

from conductor.store import documents
from conductor.store.records import BuildRequestRecord

# As written by releases without names of instances.
UNNAMED = '{"schema":1,"request_id":"req","project":"p","user":"u","flavor":"m1.tiny","spec":{"a":1}}'


def test_request_of_an_earlier_release_has_no_names():
    request = documents.load_request("key", UNNAMED)
    assert request == BuildRequestRecord("key", "req", "p", "u", "m1.tiny", {"a": 1}, {})


def test_request_without_names_is_written_as_before():
    assert documents.dump_request(documents.load_request("key", UNNAMED)) == UNNAMED


def test_names_are_stored_with_the_request():
    request = BuildRequestRecord("key", "req", "p", "u", None, {}, {"uuid": "web"})
    assert documents.load_request("key", documents.dump_request(request)) == request
