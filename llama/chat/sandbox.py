"""Jinja as Hugging Face sets it up, in a sandbox that counts what a template does.

The tree of a template is rewritten once, when it is compiled: the loops, literals, slices and the operator ~ go through
the counting operations of `llama/chat/guard.py`; +, *, ** and %, calls and filters go there by Jinja's own hooks.
"""

import re
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType
from typing import Any

from jinja2 import Undefined, nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import SandboxedEnvironment, SandboxedFormatter
from jinja2.tests import TESTS
from jinja2.utils import Cycler, Joiner, Namespace
from jinja2.visitor import NodeTransformer

from llama.chat import guard
from llama.chat.filters import COUNTED
from llama.chat.meter import meter

MAX_SOURCE = 1 << 20
MAX_TAGS = 20_000
TAG = re.compile(r"\{[{%]")
BUFFERED = (nodes.Macro, nodes.CallBlock, nodes.AssignBlock, nodes.FilterBlock)
CALLABLE = (FunctionType, Macro, LoopContext, Cycler, Joiner, Undefined)


class GenerationTag(Extension):
    """{% generation %} .. {% endgeneration %} marks what a model wrote, for training; here it changes nothing."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it so)

    def parse(self, parser: Parser) -> nodes.Node:
        """The tag's inside, in a scope of its own."""
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class Counting(NodeTransformer):
    """Puts the counting operations into a template's tree."""

    def __init__(self) -> None:
        self._buffered = 0

    def _filter(self, name: str, value: nodes.Node, *args: nodes.Node) -> nodes.Filter:
        return nodes.Filter(value, name, list(args), [], None, None, lineno=value.lineno)

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        inside = isinstance(node, BUFFERED) or (isinstance(node, nodes.For) and node.recursive)
        self._buffered += inside
        node = super().generic_visit(node, *args, **kwargs)
        self._buffered -= inside
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Count the turns, and inside of macros, whose text is kept in memory, what each turn writes."""
        self.generic_visit(node)
        cost = literal_length(node) if self._buffered or node.recursive else 0
        node.iter = self._filter("_steps", node.iter, nodes.Const(cost, lineno=node.lineno))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return self._filter("_joined", nodes.List(node.nodes, lineno=node.lineno))

    def visit_List(self, node: nodes.List) -> nodes.Node:
        self.generic_visit(node)
        return self._filter("_literal", node) if node.items else node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        self.generic_visit(node)
        return self._filter("_literal", node) if node.items else node

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return self._filter("_literal", node) if node.ctx == "load" and node.items else node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        none = nodes.Const(None, lineno=node.lineno)
        part = node.arg
        return self._filter("_sliced", node.node, part.start or none, part.stop or none, part.step or none)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = self._filter("_light", node.expr)
        return node


def literal_length(loop: nodes.For) -> int:
    """Characters of fixed text in the loop's body."""
    data = sum(len(part.data) for part in loop.find_all(nodes.TemplateData))
    return data + sum(len(part.value) for part in loop.find_all(nodes.Const) if isinstance(part.value, str))


class Formatter(SandboxedFormatter):
    """str.format with limited widths."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """One field's text."""
        guard.check_spec(format_spec)
        return str(super().format_field(value, format_spec))


class TemplateEnvironment(SandboxedEnvironment):
    """The one environment all chat templates are compiled in."""

    intercepted_binops = frozenset(guard.CHECKS)

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[loopcontrols, GenerationTag],
            finalize=guard.shown,
            autoescape=False,
            cache_size=0,
        )
        self.filters = dict(COUNTED)
        self.tests = {name: counted_test(name, test) for name, test in TESTS.items()}
        del self.globals["lipsum"]

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if len(source) > MAX_SOURCE or len(TAG.findall(source)) > MAX_TAGS:
            raise TemplateSyntaxError("the chat template is too large", 1)
        tree: nodes.Template = Counting().visit(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """left operator right, checked."""
        return guard.binary(operator, left, right)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of a call from the template, if it is one of those that templates need."""
        counter = meter()
        with counter.call():
            if isinstance(obj, BuiltinMethodType) and not isinstance(obj.__self__, type(guard)):
                own = {name: value for name, value in kwargs.items() if name not in ("_loop_vars", "_block_vars")}
                return counter.made(guard.method(obj, args, own))
            if obj is not dict and obj is not Namespace and not isinstance(obj, CALLABLE):
                raise SecurityError("a chat template may not call this")
            return counter.made(super().call(context, obj, *args, **kwargs))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """A guarded stand-in for the methods format and format_map of strings."""
        is_method = isinstance(value, BuiltinMethodType) and isinstance(value.__self__, str)
        if not is_method or value.__name__ not in ("format", "format_map"):
            return None
        text, is_map = str(value.__self__), value.__name__ == "format_map"

        def fill(*args: Any, **kwargs: Any) -> str:
            if is_map:
                given: Any = args[0]
                args, kwargs = (), dict(given)
            longest = guard.largest([*args, *kwargs.values()])
            meter().text(len(text) + text.count("{") * longest)
            return str(Formatter(self).vformat(text, args, kwargs))

        return fill


def counted_test(name: str, test: Any) -> Any:
    """The test, with values it compares kept small."""
    if name not in (
        "eq",
        "==",
        "equalto",
        "ne",
        "!=",
        "lt",
        "<",
        "lessthan",
        "gt",
        ">",
        "greaterthan",
        "le",
        "ge",
        "in",
    ):
        return test
    return lambda value, *args: test(guard.light(value), *args)
