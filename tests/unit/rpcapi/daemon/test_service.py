# SPDX-License-Identifier: Apache-2.0
"""The factory of a service by its name."""

import pytest

from rpcapi.daemon import service


def test_factory_is_imported_by_module_and_function() -> None:
    assert service.load_factory("rpcapi.daemon.service:load_factory") is service.load_factory


@pytest.mark.parametrize(
    ("name", "error"), [("rpcapi.daemon.nothing:make", ModuleNotFoundError), ("rpcapi.daemon:make", AttributeError)]
)
def test_missing_factory_raises(name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        service.load_factory(name)
