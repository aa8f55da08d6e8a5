# SPDX-License-Identifier: Apache-2.0
"""Host state: reports of hosts, and documents about hosts."""
