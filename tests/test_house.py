"""The house stands: packages import strictly downwards, files and functions stay short, every file says what it is."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "llama"
MODULES = sorted(SOURCE.rglob("*.py"))

FLOORS = {
    "errors": 0,
    "folder": 0,
    "jit": 1,
    "settings": 1,
    "modelfile": 2,
    "kernels": 2,
    "tokenizer": 2,
    "grammar": 2,
    "models": 3,
    "sampling": 3,
    "chat": 3,
    "engine": 4,
    "api": 5,
    "web": 6,
    "cli": 7,
}
LONGEST_FILE = 400
LONGEST_FUNCTION = 60
FLASK = {"flask", "werkzeug", "gunicorn", "waitress"}


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[str]:
    """Every module that `path` imports, functions' own imports included."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names.append(node.module)
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_strictly_down(path: Path) -> None:
    own = package_of(path)
    if own == "__init__":
        return  # the public surface re-exports the top floors
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "llama" and len(parts) > 1 and parts[1] != own:
            assert FLOORS[parts[1]] < FLOORS[own], f"{own} (floor {FLOORS[own]}) imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_top_floors_know_the_web_server(path: Path) -> None:
    if package_of(path) not in ("web", "cli"):
        assert not FLASK & {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_stay_short_and_say_what_they_are(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "no module docstring"
    assert text.count("\n") <= LONGEST_FILE
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


def test_every_package_has_a_floor_and_the_top_level_is_the_agreed_one() -> None:
    packages = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert packages | {"errors", "folder", "jit"} == set(FLOORS)


def test_only_settings_reads_the_environment() -> None:
    for path in MODULES:
        if package_of(path) != "settings":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "argv"):
                    owner = node.value
                    assert not (isinstance(owner, ast.Name) and owner.id in ("os", "sys")), f"{path}:{node.lineno}"
