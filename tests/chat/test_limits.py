"""Templates that eat time or memory, or reach for Python, are refused quickly; ordinary ones do not notice."""

import threading
import time
from typing import Any

import pytest

from llama.chat import ChatTemplate
from llama.errors import TemplateError

MESSAGES = [{"role": "user", "content": "hi"}]
DOUBLING = (
    "{{% set ns = namespace(x={start}) %}}{{% for i in range(60) %}}{{% set ns.x = {step} %}}{{% endfor %}}"
    "{{{{ ns.x }}}}"
)
MACROS = "{% macro a() %}" + "x" * 999 + "{% endmacro %}"
for depth in range(40):
    inner = f"a{'b' * depth}()"
    MACROS += f"{{% macro a{'b' * (depth + 1)}() %}}{{{{ {inner} }}}}{{{{ {inner} }}}}{{% endmacro %}}"
MACROS += "{{ a" + "b" * 40 + "() }}"
HOSTILE = {
    "lists of lists": DOUBLING.format(start="['a']", step="[ns.x, ns.x]"),
    "tilde": DOUBLING.format(start="'a'", step="ns.x ~ ns.x"),
    "plus": DOUBLING.format(start="'a'", step="ns.x + ns.x"),
    "list plus": DOUBLING.format(start="[1]", step="ns.x + ns.x"),
    "numbers": DOUBLING.format(start="123456789", step="ns.x * ns.x"),
    "format": DOUBLING.format(start="'a'", step="'%s%s' % (ns.x, ns.x)"),
    "str.format": DOUBLING.format(start="'a'", step="'{}{}'.format(ns.x, ns.x)"),
    "join": DOUBLING.format(start="'a'", step="[ns.x, ns.x]|join"),
    "replace": DOUBLING.format(start="'aaaa'", step="ns.x.replace('a', 'aaaa')"),
    "replace filter": DOUBLING.format(start="'aaaa'", step="ns.x|replace('a', 'aaaa')"),
    "set block": "{% set ns = namespace(x='abcd') %}{% for i in range(60) %}"
    "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}",
    "macros": MACROS,
    "power": "{{ 10 ** (10 ** 9) }}",
    "repetition": "{{ 'ab' * 10 ** 10 }}",
    "list repetition": "{{ ([0] * 10 ** 5 * 10 ** 5)|length }}",
    "centre": "{{ 'x'|center(10 ** 9) }}",
    "ljust": "{{ 'x'.ljust(10 ** 9) }}",
    "zfill": "{{ 'x'.zfill(10 ** 9) }}",
    "indent": "{{ 'x'|indent(10 ** 9, true) }}",
    "format width": "{{ '{:>999999999}'.format('x') }}",
    "nested width": "{{ '{:{w}}'.format('x', w=999999999) }}",
    "printf width": "{{ '%999999999d'|format(3) }}",
    "printf star": "{{ '%*d' % (999999999, 3) }}",
    "tojson indent": "{{ {'a': [1]}|tojson(indent=10 ** 9) }}",
    "slice": "{{ [1]|slice(10 ** 9)|list }}",
    "batch": "{{ [1]|batch(10 ** 9, 'x')|list }}",
    "round": "{{ 1.5|round(10 ** 9, 'ceil') }}",
    "extend": "{% set x = [1] %}{% for i in range(60) %}{% set _ = x.extend(x) %}{% endfor %}",
    "circle": "{% set x = [1] %}{% set _ = x.append(x) %}{{ x }}",
    "circle as json": "{% set x = [1] %}{% set _ = x.append(x) %}{{ x|tojson }}",
    "kept slices": "{% set a = [] %}{% set x = range(99999)|list %}"
    "{% for i in range(99999) %}{% set _ = a.append(x[:]) %}{% endfor %}",
    "kept texts": "{% set a = [] %}{% for i in range(99999) %}{% set _ = a.append('x' * 1000000) %}{% endfor %}",
    "loops": "{% set x = range(90000)|list %}{% for a in x %}{% for b in x %}{% endfor %}{% endfor %}",
    "filters in loops": "{% for a in range(90000) %}{% set y = range(90000)|select('odd')|list %}{% endfor %}",
    "recursion": "{% macro a(n) %}{{ a(n + 1) }}{% endmacro %}{{ a(0) }}",
    "tree": "{% macro a(n) %}{% if n < 60 %}{{ a(n + 1) }}{{ a(n + 1) }}{% endif %}{% endmacro %}{{ a(0) }}",
    "recursive loop": "{% for x in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
    "deep text": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "long chain": "{{ " + " + ".join(["'a'"] * 20000) + " }}",
    "too many tags": "{{ x }}" * 30000,
    "much text": "{% for i in range(99999) %}" + "a" * 90000 + "{% endfor %}",
    "filter block": "{% filter upper %}{% for i in range(99999) %}" + "a" * 90000 + "{% endfor %}{% endfilter %}",
    "a function shown": "{{ raise_exception }}",
    "a class shown": "{{ [cycler] }}",
    "bytes": "{{ (1).to_bytes(10 ** 9, 'big') }}",
    "class walk": "{{ ''.__class__.__mro__ }}",
    "globals": "{{ raise_exception.__globals__['os'] }}",
    "format reaches in": "{{ '{0.__class__.__init__.__globals__}'.format(messages) }}",
    "dict of class": "{{ dict.__base__.__subclasses__() }}",
    "from keys": "{{ dict.fromkeys(range(9)) }}",
    "import": "{% import 'os' as os %}",
    "include": "{% include '/etc/passwd' %}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_templates_are_refused(name: str) -> None:
    before = time.thread_time()
    with pytest.raises(TemplateError) as error:
        ChatTemplate(HOSTILE[name]).run(MESSAGES)
    assert time.thread_time() - before < 4
    assert not any(word in str(error.value) for word in ("<class", "<function", "<module", "builtins"))


def test_a_template_cannot_change_the_callers_messages() -> None:
    template = ChatTemplate(
        "{% set _ = messages.append(1) %}{% set _ = messages[0].update(content='x') %}{{ messages|length }}"
    )
    messages = [{"role": "user", "content": "hi"}]
    assert template.render(messages) == "2"
    assert messages == MESSAGES


def test_limits_are_counted_for_each_rendering() -> None:
    template = ChatTemplate("{% for i in range(20000) %}{{ 'abc' ~ i }}{% endfor %}")
    lengths = {len(template.run(MESSAGES)) for _ in range(5)}
    assert lengths == {20000 * 3 + sum(len(str(i)) for i in range(20000))}


def test_threads_render_at_once() -> None:
    template = ChatTemplate("{% for m in messages %}{{ m.content * 3 }}{% endfor %}")
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(template.render([{"role": "user", "content": str(n)}])))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(str(n) * 3 for n in range(20))


def test_a_long_chat_is_no_attack(template_text: Any) -> None:
    messages = [{"role": ("user", "assistant")[n % 2], "content": "word " * 200} for n in range(2001)]
    for name in ("Qwen-Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct", "openai-gpt-oss-120b"):
        assert len(ChatTemplate(template_text(name)).render(messages)) > 2_000_000
