# SPDX-License-Identifier: Apache-2.0
"""Validation of amounts by resource class."""

from typing import Any

from rpcapi.resources import vocabulary
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.text import abbreviate, check_mapping, invalid_spec, is_integer

MAX_CLASSES = 32  # resource classes of one group


def check(resources: Any, qualifier: str = "") -> None:
    """Raise InvalidSpec or UnknownResourceClass unless ``resources`` maps classes to amounts of at least 1.

    ``qualifier``, such as " of group '1'", follows field names in errors.
    """
    check_mapping(f"the resources{qualifier}", resources, MAX_CLASSES)
    for resource_class, amount in resources.items():
        vocabulary.check_resource_class(resource_class)
        if not is_integer(amount, 1, MAX_AMOUNT):
            raise invalid_spec(
                f"the amount of {resource_class}{qualifier} must be an integer from 1 to {MAX_AMOUNT}, "
                f"not {abbreviate(amount)}"
            )
