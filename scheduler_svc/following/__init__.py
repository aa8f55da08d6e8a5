# SPDX-License-Identifier: Apache-2.0
"""Following the logs of partitions: a table that stays fresh, and who is told when it was not."""
