# SPDX-License-Identifier: Apache-2.0
"""Private servers in a run folder (Redis, RabbitMQ, MariaDB), for development clusters and tests."""
