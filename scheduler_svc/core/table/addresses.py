# SPDX-License-Identifier: Apache-2.0
"""Host addresses as integer columns, so that one vectorized comparison tests all hosts against a network."""

import ipaddress
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import Column, ColumnGroup

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HALF = 64  # bits per address column
_MASK = 2**HALF - 1


class AddressColumn(ColumnGroup):
    """IPv4 or IPv6 address per row. Version 0 means no address."""

    __slots__ = ("_high", "_low", "_version")

    EMPTY: ClassVar = {"_high": np.uint64(0), "_low": np.uint64(0), "_version": np.int8(0)}

    _high: npt.NDArray[np.uint64]
    _low: npt.NDArray[np.uint64]
    _version: npt.NDArray[np.int8]

    def set_row(self, row: int, text: str | None) -> None:
        address = None if text is None else ipaddress.ip_address(text)
        number = 0 if address is None else int(address)
        self._high[row] = number >> HALF
        self._low[row] = number & _MASK
        self._version[row] = 0 if address is None else address.version

    def of(self, row: int) -> str | None:
        number = (int(self._high[row]) << HALF) | int(self._low[row])
        kinds = {4: ipaddress.IPv4Address, 6: ipaddress.IPv6Address}
        version = int(self._version[row])
        return str(kinds[version](number)) if version else None

    def within(self, network: Network, size: int) -> Column:
        mask, prefix = int(network.netmask), int(network.network_address)
        if network.version == 4:
            mask |= _MASK << HALF  # the high half of IPv4 addresses is 0
        column: Column = self._version[:size] == network.version
        column &= (self._high[:size] & np.uint64(mask >> HALF)) == np.uint64(prefix >> HALF)
        column &= (self._low[:size] & np.uint64(mask & _MASK)) == np.uint64(prefix & _MASK)
        return column
