# SPDX-License-Identifier: Apache-2.0
"""Private servers in a run folder (Redis, RabbitMQ, PostgreSQL, ...), for development clusters and tests."""
