# SPDX-License-Identifier: Apache-2.0
"""Store of one partition: host state, claims and log behind one interface, with several backends."""
