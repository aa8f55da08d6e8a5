# SPDX-License-Identifier: Apache-2.0
"""No function only passes its own arguments on to another one: its callers call that one themselves."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = ("rpcapi", "scheduler_svc", "conductor", "compute_agent")

# Methods of containers: a class that reads or changes a container of its own does its own work.
CONTAINER_METHODS = frozenset({"add", "append", "discard", "get"})

HOOK = "overrides a method that a base class calls"
VIEW = "belongs to a view, which hides the columns that it reads from those who only decide"
ERROR = "names the only argument of an error that is raised in many places"
COLUMNS = "keeps a column of the class private, so that every change passes the class and clears its caches"
PLUGINS = "is documented for plugins, which read the columns of providers"
VERB = "is a part of the interface of all storages, which the verbs call"

# The relays that have a reason.
ALLOWED = {
    "compute_agent": {},
    "conductor": {},
    "rpcapi": {
        "cli.command.SessionCommand.show_message": "is the only place that decides about level and logger",
        "cli.live_output.pause": "is replaced in tests, which do not wait",
        "daemon.http_listener.TlsAdapter.makefile": HOOK,
        "errors.GanttError.of_message": "takes a message, which the typed constructors of the subclasses do not",
        "serializer.GanttSerializer.deserialize_context": HOOK,
        "validation.text.invalid_spec": ERROR,
    },
    "scheduler_svc": {
        "conf.namespaces.check": "is called by the same name in each module of options, and returns nothing",
        "core.drivers.solver.driver.SolverDriver.batches": HOOK,
        "core.table.aggregates.AggregateColumns.grow": COLUMNS,
        "core.table.aggregates.AggregateView.of": VIEW,
        "core.table.aggregates.AggregateView.of_row": VIEW,
        "core.table.provider_columns.ProviderColumns.members": PLUGINS,
        "core.table.provider_columns.ProviderColumns.traits_of": PLUGINS,
        "core.table.view.View.address": VIEW,
        "core.table.view.View.set_aside": VIEW,
        "core.table.view.View.usage_position": VIEW,
        "store.documents.encode": "keeps one encoder, as json.dumps makes one at each call",
        "store.validation.refuse": ERROR,
        "store.verbs.partition.answer_of": "says that the states of claims are answers",
    },
}


def functions(body, prefix=()):
    """(dotted name, definition) of each function and method, without those that are defined in a function."""
    for statement in body:
        match statement:
            case ast.ClassDef(name=name):
                yield from functions(statement.body, (*prefix, name))
            case ast.FunctionDef(name=name):
                yield ".".join((*prefix, name)), statement


def only_call(function):
    """The call that is the whole body besides a docstring, or None."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    match body:
        case [ast.Return(value=ast.Call() as call)] | [ast.Expr(value=ast.Call() as call)]:
            return call
    return None


def passed(call):
    """The names that a call passes, in order, or None if it passes anything else."""
    names = []
    for argument in call.args:
        match argument:
            case ast.Name(id=name):
                names.append(name)
            case ast.Starred(value=ast.Name(id=name)):
                names.append(f"*{name}")
            case _:
                return None
    for keyword in call.keywords:
        match keyword.value:
            case ast.Name(id=name) if keyword.arg in (None, name):
                names.append(name if keyword.arg else f"**{name}")
            case _:
                return None
    return names


def parameters(function, *, is_method):
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if is_method and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    names += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    return names + ([f"**{arguments.kwarg.arg}"] if arguments.kwarg else [])


def is_path(node):
    """Whether an expression only names something: ``function``, ``module.function`` or ``self._x.method``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def is_exposed(function):
    """Whether it is called by messages: an endpoint decodes for its domain, however little that is."""
    return any(isinstance(node, ast.Name) and node.id == "expose" for node in function.decorator_list)


def is_relay(name, function):
    """Whether a function passes on all it gets; one that gets nothing reads, starts or stops what its class owns."""
    call = only_call(function)
    if call is None or is_exposed(function) or not is_path(call.func):
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr in CONTAINER_METHODS:
        return False
    names = parameters(function, is_method="." in name)
    return bool(names) and passed(call) == names


def relays(package):
    for path in sorted((ROOT / package).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / package).with_suffix("").parts)
        for name, function in functions(ast.parse(path.read_text()).body):
            if is_relay(name, function):
                yield f"{module}.{name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_relays_have_a_reason(package):
    assert set(relays(package)) == set(ALLOWED[package])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a, b): return g(a, b)", True),
        ("def f(a, *, b):\n  'Why.'\n  g(a, b=b)", True),
        ("def f(*args, **values): return g(*args, **values)", True),
        ("class C:\n  def f(self, a): return self._x.f(a)", True),
        ("class C:\n  def f(self, a): self._x.append(a)", False),
        ("class C:\n  def f(self): return self._x.f()", False),
        ("class C:\n  @expose\n  def f(self, ctxt, a): return self._x.f(ctxt, a)", False),
        ("def f(a, b): return g(b, a)", False),
        ("def f(a): return g(a, 1)", False),
        ("def f(a): return g(a).h(a)", False),
        ("def f(a):\n  check(a)\n  return g(a)", False),
    ],
)
def test_a_relay_passes_on_all_it_gets(source, expected):
    ((name, function),) = functions(ast.parse(source).body)
    assert is_relay(name, function) is expected
