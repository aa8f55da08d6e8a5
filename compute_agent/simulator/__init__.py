# SPDX-License-Identifier: Apache-2.0
"""The simulated hypervisor and its hosts."""
