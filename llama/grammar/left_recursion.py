"""Finds rules that would call themselves before reading anything."""

from llama.grammar.automaton import CALL, COUNT, SPLIT, Automaton


def left_recursive_rules(automaton: Automaton, empty: list[bool]) -> list[str]:
    """The names along one cycle of left recursion; empty when there is none. `empty`: nodes whose rest may be empty."""
    callees = [_first_calls(automaton, key, empty) for key in range(len(automaton.starts))]
    entered = [False] * len(callees)
    left = [False] * len(callees)
    for root in range(len(callees)):
        path = [] if entered[root] else [(root, iter(callees[root]))]
        entered[root] = True
        while path:
            key, rest = path[-1]
            following = next(rest, None)
            if following is None:
                left[key] = True
                path.pop()
            elif not entered[following]:
                entered[following] = True
                path.append((following, iter(callees[following])))
            elif not left[following]:
                keys = [on_path for on_path, _ in path]
                cycle = keys[keys.index(following) :]
                return [automaton.names[key] for key in cycle if automaton.names[key]]
    return []


def _first_calls(automaton: Automaton, key: int, empty: list[bool]) -> list[int]:
    """The keys that rule `key` can call while it has read nothing."""
    found: dict[int, None] = {}
    seen = {automaton.starts[key]}
    pending = [automaton.starts[key]]
    while pending:
        node = pending.pop()
        kind = automaton.kind[node]
        reached: list[int] = []
        if kind == SPLIT:
            reached = [target for _, target in automaton.edges[node]]
        elif kind in (CALL, COUNT):
            callee = automaton.argument[node]
            found[callee] = None
            skippable = kind == COUNT and automaton.low[callee] == 0
            if skippable or empty[automaton.starts[callee]]:
                reached = [automaton.following[node]]
        for target in reached:
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return list(found)
