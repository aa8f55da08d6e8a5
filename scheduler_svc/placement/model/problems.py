# SPDX-License-Identifier: Apache-2.0
"""Problems: refused requests of the Placement API."""

UNDEFINED = "placement.undefined_code"
CONCURRENT_UPDATE = "placement.concurrent_update"
DUPLICATE_NAME = "placement.duplicate_name"
INVENTORY_IN_USE = "placement.inventory.inuse"
MISSING_PARAMETER = "placement.query.missing_value"
BAD_PARAMETER = "placement.query.bad_value"
DUPLICATE_PARAMETER = "placement.query.duplicate_key"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
PROVIDER_HAS_CHILDREN = "placement.resource_provider.cannot_delete_parent"


class Problem(Exception):
    """Refused request, which is answered with an error and changed nothing.

    Attributes:
        status: HTTP status.
        detail: Message.
        code: Error code that clients compare: https://docs.openstack.org/api-ref/placement/#error-codes
    """

    def __init__(self, status: int, detail: str, code: str = UNDEFINED) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.code = code


def bad_request(detail: str, code: str = UNDEFINED) -> Problem:
    return Problem(400, detail, code)


def not_found(detail: str) -> Problem:
    return Problem(404, detail)


def conflict(detail: str, code: str = UNDEFINED) -> Problem:
    return Problem(409, detail, code)
