# SPDX-License-Identifier: Apache-2.0
"""The bus: transports, drivers, and what threads are made of."""
