# SPDX-License-Identifier: Apache-2.0
"""The members of `names`, made from what a queue manager consists of.

p4src/include/queue_managers.p4 registers queue managers, with their numbers in the pipeline. A
manager's module in `managers` has its presets. Both are read as text: until `names` has the
members, a new module cannot be imported.

    python -m docsis_control.queue_managers.registration p4src/include/queue_managers.p4

writes names.py anew; `make tables` does so, and a test fails where the file is another one.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

_HERE: Final = Path(__file__).parent
NAMES: Final = _HERE / "names.py"
"""The file that is written."""

MODULES: Final = _HERE / "managers"
"""The folder of the managers' modules."""

_Read = TypeVar("_Read")

_NUMBER: Final = re.compile(r"^const queue_manager_t (\w+)\s*=\s*(\d+);", re.MULTILINE)


def numbers(p4: str) -> dict[str, int]:
    """The queue managers' numbers in the pipeline, by their names, in the order of the numbers.

    Args:
        p4: The text of queue_managers.p4.

    Raises:
        ValueError: There is none, or two have one name or one number.
    """
    found = [(name, int(number)) for name, number in _NUMBER.findall(p4)]
    by_name, by_number = dict(found), {number: name for name, number in found}
    if not found or not len(by_name) == len(by_number) == len(found):
        raise ValueError(
            "each queue manager needs a line `const queue_manager_t NAME = NUMBER;` "
            f"with a name and a number of its own; there are {found}"
        )
    return dict(sorted(found, key=lambda each: each[1]))


def presets(module: str) -> list[str]:
    """The names of a module's presets, as members of `Preset`: the keys of its PRESETS.

    Args:
        module: The module's text.

    Raises:
        ValueError: It has no PRESETS, or a key that is not written `Preset.NAME`.
    """
    for statement in ast.parse(module).body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id="PRESETS"), value=ast.Dict(keys=keys)):
                return [_member(key) for key in keys]
    raise ValueError("there is no dictionary PRESETS")


def _member(key: ast.expr | None) -> str:
    match key:
        case ast.Attribute(value=ast.Name(id="Preset"), attr=name) if name == name.upper():
            return name
    written = "**" if key is None else ast.unparse(key)
    raise ValueError(f"a key of PRESETS is `Preset.NAME` in capitals, not {written}")


def with_members(names: str, managers: Mapping[str, int], preset_names: Iterable[str]) -> str:
    """The text of names.py with these members.

    Presets keep the order in which they are there, which is that of tables and figures. New ones
    come behind them.
    """
    there = re.findall(r'^    (\w+) = "', names, re.MULTILINE)
    wanted = list(dict.fromkeys(preset_names))
    kept = [name for name in there if name in wanted]
    ordered = kept + [name for name in wanted if name not in kept]
    text = _replaced(names, "QueueManager", (f"{name} = {managers[name]}" for name in managers))
    words = ((name, name.lower().replace("_", "-")) for name in ordered)
    return _replaced(text, "Preset", (f'{name} = "{word}"' for name, word in words))


def _replaced(names: str, of: str, members: Iterator[str]) -> str:
    block = re.compile(
        rf'(^class {of}\(.*?"""\n\n)(?:    \w+ = [^\n]*\n)+', re.MULTILINE | re.DOTALL
    )
    lines = "".join(f"    {member}\n" for member in members)
    text, count = block.subn(lambda match: match[1] + lines, names)
    if count != 1:
        raise ValueError(f"{NAMES.name} has no class {of} with a docstring and members")
    return text


def text(p4: Path) -> str:
    """The text that names.py has to have.

    Args:
        p4: p4src/include/queue_managers.p4.

    Raises:
        ValueError: One sentence that begins with the file.
    """
    managers = _told(p4, numbers)
    found: list[str] = []
    for name in managers:
        module = MODULES / f"{name.lower()}.py"
        if not module.is_file():
            raise ValueError(f"{p4}: {name} needs its parameters in {module}")
        found += _told(module, presets)
    return with_members(NAMES.read_text("utf-8"), managers, found)


def _told(file: Path, read: Callable[[str], _Read]) -> _Read:
    try:
        return read(file.read_text("utf-8"))
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None


def main(p4: str) -> None:
    """Writes names.py anew."""
    try:
        made = text(Path(p4))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    if made != NAMES.read_text("utf-8"):
        NAMES.write_text(made, "utf-8")
        print(f"{NAMES.name}: queue managers written")


if __name__ == "__main__":
    main(sys.argv[1])
