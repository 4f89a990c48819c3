"""Schemas as text: JSON, and the YAML that people write by hand, both read strictly."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from understudy.errors import InputError
from understudy.untrusted import DEEPEST, integer, read_bytes, strict_json
from understudy.wording import did_you_mean

SUFFIXES = (".yaml", ".yml", ".json")
# About 200,000 categories: beyond, the parser takes longer than anybody wants to wait.
_MOST_BYTES, _MOST_EVENTS = 4 * 2**20, 250_000
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built


class _Loader(_Base):
    """Plain YAML 1.2 scalars and unique keys.

    PyYAML follows YAML 1.1, where an unquoted `no` is false and `1e6` is text; in a list of categories or in bounds
    both are traps. A repeated key would silently win over the first.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is there twice", key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


# Numbers with leading zeros stay text: a postcode is no number.
_WHOLE = r"[-+]?(?:0|[1-9][0-9]*)"
_FLOAT = rf"{_WHOLE}(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9]+(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan"
_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|True|false|False", list("tTfF")),
    ("int", _WHOLE, list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def _decimal_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return integer(str(loader.construct_scalar(node)), "the schema")


_Loader.add_constructor("tag:yaml.org,2002:int", _decimal_int)


class _Dumper(yaml.SafeDumper):
    """One line for bounds and categories, a block for each column."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _sequence(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.SequenceNode:
    flow = not any(isinstance(value, dict) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=flow)


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # Unusual line ends do not survive PyYAML's single quotes.
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')


_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(str, _string)
# Text is quoted where YAML 1.1 or this reader would take it for something else.
_Dumper.yaml_implicit_resolvers = {
    first: [*yaml.SafeDumper.yaml_implicit_resolvers.get(first, []), *_Loader.yaml_implicit_resolvers.get(first, [])]
    for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *_Loader.yaml_implicit_resolvers}
}


def to_yaml(plain: dict[str, Any]) -> str:
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def to_json(plain: dict[str, Any]) -> str:
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_yaml(text: str, where: str) -> object:
    try:
        _check_events(text, where)
        return yaml.load(text, Loader=_Loader)
    except InputError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{where}: this is not YAML: {_one_line(error)}.") from None


def _check_events(text: str, where: str) -> None:
    """Refuse what can be short here and endless once it is loaded: aliases, deep nesting, types of its own."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Base)):
        line = event.start_mark.line + 1
        if number > _MOST_EVENTS:
            raise InputError(f"{where}: more than {_MOST_EVENTS:,} values (line {line}); no schema has so many.")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InputError(f"{where}: anchors and aliases (&, *) are not read; write the value out (line {line}).")
        if getattr(event, "tag", None) is not None:
            raise InputError(f"{where}: tags such as {event.tag[:80]!r} are not read; leave them out (line {line}).")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise InputError(f"{where}: nested too deeply to be a schema (line {line}).")


def from_json(text: str, where: str) -> object:
    return strict_json(text, where=where)


def read_schema_file(path: str | os.PathLike[str]) -> object:
    """The plain values in a schema file."""
    path = Path(path)
    parse = from_json if _suffix(path) == ".json" else from_yaml
    try:
        text = read_bytes(path, most=_MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}. `understudy schema init DATA --out {path}` drafts one.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}."
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from None
    if not text.strip():
        raise InputError(f"{path} is empty.")
    return parse(text, str(path))


def write_schema_file(plain: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write whole or not at all; the suffix chooses the language."""
    from understudy.files import write_text

    write_text(path, to_json(plain) if _suffix(Path(path)) == ".json" else to_yaml(plain))


def check_schema_path(path: str | os.PathLike[str]) -> None:
    """Refuse a name or place that a schema cannot be written to, before any work is done."""
    from understudy.files import check_writable

    _suffix(Path(path))
    check_writable(path)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path}: a schema is a {', '.join(SUFFIXES)} file, not {suffix!r}.{did_you_mean(suffix, SUFFIXES)}"
        )
    return suffix


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
