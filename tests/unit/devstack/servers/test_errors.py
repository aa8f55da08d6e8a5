# SPDX-License-Identifier: Apache-2.0
"""Errors of private servers."""

import inspect

import pytest

from devstack.servers import errors

CLASSES = [item for _, item in inspect.getmembers(errors, inspect.isclass) if item.__module__ == errors.__name__]


@pytest.mark.parametrize("error", CLASSES)
def test_commands_that_catch_server_errors_catch_all(error):
    assert issubclass(error, errors.ServerError)
    assert error.__doc__.startswith("Raised ")
