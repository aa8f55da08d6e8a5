# SPDX-License-Identifier: Apache-2.0
"""The lock is in step with setup.py; locks that are not are refused."""

import importlib.metadata

import pytest

from devstack.deploy.packaging import checkout, lock
from devstack.deploy.packaging.programs import PackagingError

HASH = f"--hash=sha256:{'0' * 64}"
REQUIREMENTS = ["kombu<6,>=5.6", 'redis[hiredis]>=6; extra == "all"', 'matplotlib>=3; extra == "cli"']


def problems(text: str) -> list[str]:
    return lock.problems(REQUIREMENTS, lock.read(text))


def test_lock_is_in_step_with_setup() -> None:
    requirements = importlib.metadata.requires("gantt")
    assert requirements

    assert lock.problems(requirements, lock.read((checkout.ROOT / lock.PATH).read_text())) == [], "run `tox -e lock`"


def test_lock_with_every_requirement_has_no_problems() -> None:
    text = f"# a comment\nkombu==5.6.2 \\\n    {HASH} \\\n    {HASH}\n    # via gantt\nredis[hiredis]==7.0 {HASH}\n"

    assert problems(text) == []
    assert [(pin.name, pin.hashes) for pin in lock.read(text)] == [("kombu", 2), ("redis", 1)]


def test_missing_and_unsuitable_versions_are_named() -> None:
    assert problems(f"kombu==6.0.1 {HASH}\n") == [
        "kombu<6,>=5.6 is required by setup.py, and the lock pins 6.0.1",
        'redis[hiredis]>=6; extra == "all" is required by setup.py, and the lock does not pin redis',
    ]


def test_every_variant_of_a_pin_must_suit() -> None:
    text = f"kombu==5.6.2 ; python_version < '3.12' {HASH}\nkombu==6.0 ; python_version >= '3.12' {HASH}\n"

    assert problems(f"{text}redis==7.0 {HASH}\n") == ["kombu<6,>=5.6 is required by setup.py, and the lock pins 6.0"]


def test_pin_without_a_hash_is_named() -> None:
    assert problems(f"kombu==5.6.2\nredis==7.0 {HASH}\n") == ["kombu 5.6.2 has no hash in the lock"]


@pytest.mark.parametrize(
    "line", ["kombu>=5.6", "kombu", "kombu==5.*", "-e .", "kombu==5.6,!=5.7", "https://x/kombu.whl"]
)
def test_line_that_is_no_pin_is_refused(line: str) -> None:
    with pytest.raises(PackagingError, match="is not of the form name==version"):
        lock.read(f"{line} {HASH}\n")
