"""The command line as a whole: help, exit codes, one-line errors, and what they import."""

import importlib
import inspect
import subprocess
import sys
import warnings

import pytest
import typer

import tanager
from tanager import core
from tanager.cli import app as app_module
from tanager.cli import errors
from tanager.cli.app import COMMANDS


def run(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)


def test_help_lists_the_commands_and_imports_nothing_heavy():
    code = """
import sys
import warnings
sys.argv = ["tanager", "--help"]
from tanager.cli import main
try:
    main()
finally:
    heavy = {"numpy", "numba", "sklearn", "pyarrow", "matplotlib", "pandas"} & set(sys.modules)
    print("heavy:", sorted(heavy))
"""
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert "heavy: []" in result.stdout
    for name in COMMANDS:
        assert f" {name} " in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example(call, name):
    result = call(name, "--help")
    assert result.exit_code == 0, result.output
    assert f"tanager {name}" in result.stdout.split("Example")[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_list_of_commands_says_what_their_own_help_says(name):
    function = getattr(importlib.import_module(f"tanager.cli.{name}"), name)
    assert inspect.getdoc(function).splitlines()[0] == COMMANDS[name]


def test_version(call):
    assert call("--version").stdout == f"tanager {tanager.__version__}, compiled core of level {core.level}\n"


def test_unknown_command_and_option(call):
    result = call("fitt")
    assert result.exit_code == 2
    assert "No such command 'fitt'" in result.stderr
    assert call("fit", "--nothing").exit_code == 2
    assert call("fit").exit_code == 2


@pytest.fixture
def failing(monkeypatch):
    """Make a command fail in a given way."""

    def set_up(error):
        def command():
            raise error

        class Module:
            demo = staticmethod(command)

        monkeypatch.setattr(app_module, "import_module", lambda name: Module)

    return set_up


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("two\n lines"), "error: two lines"),
        (FileNotFoundError(2, "No such file or directory", "a.csv"), "error: a.csv: No such file or directory"),
        (PermissionError(13, "Permission denied", "a.csv"), "error: a.csv: Permission denied"),
        (MemoryError(), "error: out of memory"),
        (ModuleNotFoundError("no", name="onnx.helper"), "error: onnx is not installed: pip install 'tanager[exports]'"),
        (ModuleNotFoundError("no", name="plotly"), "error: plotly is not installed: pip install 'tanager[report]'"),
        (ImportError("this needs x; pip install x"), "error: this needs x; pip install x"),
        (KeyError("k"), "error: KeyError: 'k' (a bug in tanager; tanager --debug COMMAND ... shows where)"),
    ],
)
def test_errors_take_one_line(call, failing, error, message):
    failing(error)
    result = call("demo")
    assert result.exit_code == 1
    assert result.stderr == f"{message}\n"


@pytest.mark.filterwarnings("always")
def test_warnings_are_notes_of_one_line(call, monkeypatch):
    def command():
        for _ in range(2):
            warnings.warn("two\n lines", stacklevel=1)

    class Module:
        demo = staticmethod(command)

    monkeypatch.setattr(app_module, "import_module", lambda name: Module)
    result = call("demo")
    assert result.exit_code == 0, result.output
    assert result.stderr == "note: two lines\n"


def test_interrupt(call, failing):
    failing(KeyboardInterrupt())
    result = call("demo")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: nothing was written\n"


def test_exit_codes_of_commands_are_kept(call, failing):
    failing(typer.Exit(3))
    assert call("demo").exit_code == 3


@pytest.mark.parametrize("by", ["option", "variable"])
def test_debug_shows_the_traceback(call, failing, monkeypatch, by):
    failing(ValueError("inside"))
    if by == "variable":
        monkeypatch.setenv("TANAGER_DEBUG", "1")
    result = call(*(["--debug"] if by == "option" else []), "demo")
    assert result.exit_code == 1
    assert isinstance(result.exception, ValueError)


@pytest.mark.parametrize(
    ("blocked", "command", "message"),
    [
        ("typer", "['--help']", "typer is not installed: pip install 'tanager[cli]'"),
        ("pyarrow", "['predict', 'm', 'd']", "pyarrow is not installed: pip install 'tanager[cli]'"),
    ],
)
def test_missing_extras_are_named(blocked, command, message):
    code = f"""
import sys
import warnings
sys.modules[{blocked!r}] = None
sys.argv = ["tanager", *{command}]
from tanager.cli import main
main()
"""
    result = run(code)
    assert result.returncode == 1
    assert result.stderr == f"error: {message}\n"


def test_every_optional_module_has_an_extra():
    import tomllib
    from pathlib import Path

    path = Path(tanager.__file__).parents[2] / "pyproject.toml"
    if not path.exists():
        pytest.skip("pyproject.toml is only in the source tree")
    extras = tomllib.loads(path.read_text())["project"]["optional-dependencies"]
    for module, extra in errors._EXTRAS.items():
        assert any(requirement.startswith(module) for requirement in extras[extra])
