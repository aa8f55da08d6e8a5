# SPDX-License-Identifier: Apache-2.0
"""Errors of the embedded bus."""

import inspect

import pytest
from oslo_messaging._drivers import base

from rpcapi.messaging.drivers import errors

CLASSES = [item for _, item in inspect.getmembers(errors, inspect.isclass) if item.__module__ == errors.__name__]


@pytest.mark.parametrize("error", CLASSES)
def test_error_is_a_driver_error_and_documented(error: type[Exception]) -> None:
    assert issubclass(error, base.TransportDriverError)
    assert (error.__doc__ or "").startswith("Raised when ")


def test_unsupported_notification_is_not_implemented() -> None:
    assert issubclass(errors.NotificationsUnsupported, NotImplementedError)
