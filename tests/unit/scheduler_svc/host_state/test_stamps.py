# SPDX-License-Identifier: Apache-2.0
"""Stamps: verified only for the partition and the host that they were signed for, and with the same key."""

import pytest

from rpcapi import errors
from scheduler_svc.host_state.stamps import MIN_KEY, StampSigner

KEY = "k" * MIN_KEY


def test_own_stamp_is_verified() -> None:
    stamp = StampSigner(KEY).sign("p1", "h1", 1_763_000_000_000, 42)
    assert StampSigner(KEY).verify("p1", "h1", stamp) == (1_763_000_000_000, 42)
    assert stamp is not None and KEY not in stamp


@pytest.mark.parametrize(
    ("key", "partition", "host"),
    [("x" * MIN_KEY, "p1", "h1"), (KEY, "p2", "h1"), (KEY, "p1", "h2"), (None, "p1", "h1")],
)
def test_stamp_of_another_key_partition_or_host_proves_nothing(key: str | None, partition: str, host: str) -> None:
    stamp = StampSigner(key).sign(partition, host, 7, 42)
    assert StampSigner(KEY).verify("p1", "h1", stamp) is None


@pytest.mark.parametrize("host", ["h1", 'h1",7,42,"', "h\u00e9"])
def test_names_do_not_run_into_numbers(host: str) -> None:
    signer = StampSigner(KEY)
    assert signer.verify("p1", host, signer.sign("p1", host, 7, 42)) == (7, 42)
    assert signer.verify("p1", host, signer.sign("p1", host + "7", 7, 42)) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda stamp: stamp.replace("7.", "8.", 1),
        lambda stamp: stamp[:-1] + "\ud800",
        lambda stamp: stamp[:-1] + "\u00e9",
        lambda stamp: stamp.replace(".42.", ".43."),
        lambda stamp: stamp.replace(".42.", ".042."),
        lambda stamp: stamp[:-1] + ("0" if stamp[-1] != "0" else "1"),
        lambda stamp: stamp[:-1],
        lambda stamp: "99." + stamp,
        lambda stamp: "-7" + stamp[1:],
        lambda stamp: "",
        lambda stamp: "7.42.",
        lambda stamp: "7.42.\u00e9",
        lambda stamp: "\u0667.42." + stamp.split(".")[2],
        lambda stamp: "9" * 5000 + ".42.x",
    ],
)
def test_changed_stamp_proves_nothing(change) -> None:
    signer = StampSigner(KEY)
    stamp = change(signer.sign("p1", "h1", 7, 42))
    # a number written another way is the same number: the code covers its value
    assert signer.verify("p1", "h1", stamp) in (None, (7, 42))
    assert signer.verify("p1", "h1", stamp) is None or int(stamp.split(".")[1]) == 42


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_there_are_no_stamps(key: str | None) -> None:
    assert StampSigner(key).sign("p1", "h1", 7, 42) is None
    assert StampSigner(key).verify("p1", "h1", StampSigner(KEY).sign("p1", "h1", 7, 42)) is None


def test_short_key_is_rejected_without_showing_it() -> None:
    with pytest.raises(errors.BadConfiguration, match="at least 32 characters, got 6") as caught:
        StampSigner("secret")
    assert "secret" not in str(caught.value)
