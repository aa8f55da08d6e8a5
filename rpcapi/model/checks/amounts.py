# SPDX-License-Identifier: Apache-2.0
"""Amounts by resource class."""

from typing import Any

from rpcapi.model import vocabulary
from rpcapi.model.checks.text import check_mapping, is_integer, refuse, shown
from rpcapi.model.inventory import MAX_AMOUNT

MAX_CLASSES = 32  # resource classes of one group


def check(resources: Any, whose: str = "") -> None:
    """Raise InvalidSpec or UnknownResourceClass unless ``resources`` maps known classes to amounts from 1 up."""
    check_mapping(f"the resources{whose}", resources, MAX_CLASSES)
    for resource_class, amount in resources.items():
        vocabulary.check_resource_class(resource_class)
        if not is_integer(amount, 1, MAX_AMOUNT):
            raise refuse(
                f"the amount of {resource_class}{whose} must be an integer from 1 to {MAX_AMOUNT}, not {shown(amount)}"
            )
