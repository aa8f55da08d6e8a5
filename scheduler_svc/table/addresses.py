# SPDX-License-Identifier: Apache-2.0
"""The addresses of hosts as numbers, so that all of them are compared with a network at once."""

import ipaddress

import numpy as np
import numpy.typing as npt

from scheduler_svc.table.columns import Column, Rows, grown

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HALF = 64  # bits of each of the two columns
_MASK = 2**HALF - 1


class AddressColumn:
    """One address a row, of either version, or none."""

    __slots__ = ("_high", "_low", "_version")

    def __init__(self, size: int) -> None:
        self._high: npt.NDArray[np.uint64] = np.zeros(size, np.uint64)
        self._low: npt.NDArray[np.uint64] = np.zeros(size, np.uint64)
        self._version: npt.NDArray[np.int8] = np.zeros(size, np.int8)

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self._high = grown(self._high, size)
        self._low = grown(self._low, size)
        self._version = grown(self._version, size)

    def give(self, row: int, text: str | None) -> None:
        """Give ``row`` its address, None: it has none."""
        address = None if text is None else ipaddress.ip_address(text)
        number = 0 if address is None else int(address)
        self._high[row] = number >> HALF
        self._low[row] = number & _MASK
        self._version[row] = 0 if address is None else address.version

    def adopt(self, rows: Rows, other: "AddressColumn") -> None:
        """Take over the first rows of ``other`` as the own ``rows``."""
        count = len(rows)
        self._high[rows] = other._high[:count]
        self._low[rows] = other._low[:count]
        self._version[rows] = other._version[:count]

    def clear(self, rows: Rows) -> None:
        """Let ``rows`` have no address."""
        self.adopt(rows, AddressColumn(len(rows)))

    def of(self, row: int) -> str | None:
        """Return the address of ``row``."""
        number = (int(self._high[row]) << HALF) | int(self._low[row])
        kinds = {4: ipaddress.IPv4Address, 6: ipaddress.IPv6Address}
        version = int(self._version[row])
        return str(kinds[version](number)) if version else None

    def within(self, network: Network, size: int) -> Column:
        """Return which of the first ``size`` rows have an address in ``network``."""
        mask, wanted = int(network.netmask), int(network.network_address)
        if network.version == 4:
            mask |= _MASK << HALF  # the high half of such an address is 0
        column = self._version[:size] == network.version
        column &= (self._high[:size] & np.uint64(mask >> HALF)) == np.uint64(wanted >> HALF)
        column &= (self._low[:size] & np.uint64(mask & _MASK)) == np.uint64(wanted & _MASK)
        return column
