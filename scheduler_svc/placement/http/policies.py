# SPDX-License-Identifier: Apache-2.0
"""Policy rules of the API's operations, with Placement's names and defaults."""

import functools
from collections.abc import Callable

from oslo_config import cfg
from oslo_policy import opts as policy_opts
from oslo_policy import policy

from rpcapi import errors
from scheduler_svc.placement.http.messages import ApiUser
from scheduler_svc.placement.http.routes import ROUTES
from scheduler_svc.placement.model.problems import Problem

PREFIX = "placement:"
DEFAULT_FILE = "policy.yaml"
REMEMBERED = 4096  # cached decisions

# Operations with a default other than rule:admin_or_service_api.
_EXCEPTIONS = {"usages": "rule:admin_or_project_reader_or_service_api", "reshaper:reshape": "rule:service_api"}

_FORMER_RULE = policy.DeprecatedRule(
    name="admin_api",
    check_str="role:admin",
    deprecated_reason="Rules distinguish administrators from services since Placement 6.",
    deprecated_since="W",
)


def rules() -> list[policy.RuleDefault]:
    """Return all default rules. Deprecated rules apply too, unless ``[oslo_policy] enforce_new_defaults`` is set."""
    return [
        policy.RuleDefault("admin_api", "role:admin", scope_types=["project"]),
        policy.RuleDefault("service_api", "role:service", scope_types=["project"], deprecated_rule=_FORMER_RULE),
        policy.RuleDefault(
            "admin_or_service_api", "role:admin or role:service", scope_types=["project"], deprecated_rule=_FORMER_RULE
        ),
        policy.RuleDefault(
            "project_reader_api", "role:reader and project_id:%(project_id)s", deprecated_rule=_FORMER_RULE
        ),
        policy.RuleDefault(
            "admin_or_project_reader_or_service_api",
            "role:admin or rule:project_reader_api or role:service",
            scope_types=["project"],
            deprecated_rule=_FORMER_RULE,
        ),
        *(
            policy.RuleDefault(
                PREFIX + name, _EXCEPTIONS.get(name, "rule:admin_or_service_api"), scope_types=["project"]
            )
            for name in dict.fromkeys(route.rule for route in ROUTES if route.rule is not None)
        ),
    ]


class Policies:
    """Current rules: the defaults, overridden by the operator's policy file."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        policy_opts.set_defaults(conf, DEFAULT_FILE)
        self._conf = conf
        self._allows = self._load()

    def reload(self) -> None:
        """Read the policy file again. Raises BadConfiguration and keeps the previous rules."""
        self._allows = self._load()

    def check(self, rule: str, caller: ApiUser, project: str | None = None) -> None:
        """Raise Problem 403 unless the rule allows the caller; ``project`` is the project_id in the query."""
        if not self._allows(rule, caller, project):
            raise Problem(403, f"Policy does not allow {PREFIX}{rule} to be performed.")

    def _load(self) -> Callable[[str, ApiUser, str | None], bool]:
        enforcer = policy.Enforcer(self._conf)
        enforcer.suppress_default_change_warnings = True
        enforcer.register_defaults(rules())
        try:
            enforcer.load_rules()
        except (cfg.Error, policy.InvalidDefinitionError, OSError, ValueError) as error:
            raise errors.BadConfiguration(why=f"[oslo_policy] policy_file: {error}") from error
        enforcer.use_conf = False  # otherwise a changed file would apply at the next request, without ``reload``

        @functools.lru_cache(maxsize=REMEMBERED)
        def allows(rule: str, caller: ApiUser, project: str | None) -> bool:
            credentials = {"user_id": caller.user, "project_id": caller.project, "roles": list(caller.roles)}
            if caller.system_scope:
                credentials["system"] = caller.system_scope
            try:
                return bool(enforcer.authorize(PREFIX + rule, {"project_id": project}, credentials))
            except policy.InvalidScope:
                return False

        return allows
