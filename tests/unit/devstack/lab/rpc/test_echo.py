# SPDX-License-Identifier: Apache-2.0
"""The echo daemon."""

import pkgutil

import pytest

from devstack.lab.rpc import echo


def test_daemon_has_the_configured_number_of_workers(monkeypatch, conf):
    calls = []
    monkeypatch.setattr(echo, "run", lambda *args, **options: calls.append((args, options)) or 7)
    assert echo.main() == 7
    (((_, make_service), options),) = calls
    assert pkgutil.resolve_name(make_service).__name__ == "make_service"
    for register in options["register_opts"]:
        register(conf)
    conf.set_override("workers", 3, group="echo")
    assert options["workers"](conf) == 3
    with pytest.raises(ValueError, match="Should be"):
        conf.set_override("workers", 0, group="echo")
