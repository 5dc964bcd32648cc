"""Mechanisms on the command line: every public mechanism for one question, and an option for each of its parameters.

Nothing here knows a mechanism by name: signatures and docstrings say it all, so a new mechanism needs no line here.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from reticent import mechanisms
from reticent.channel import Channel
from reticent.domain import Categorical

Recipe = Callable[..., Channel]


def recipes() -> dict[str, Recipe]:
    """Mechanisms by their name on the command line: those that make a channel for one domain."""
    named = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    return {
        name.replace("_", "-"): made
        for name, made in named.items()
        if next(iter(inspect.signature(made).parameters)) == "domain"
        and issubclass(get_type_hints(made)["return"], Channel)
    }


def parameters(recipe: Recipe) -> dict[str, inspect.Parameter]:
    """The parameters of a mechanism besides its domain."""
    return {name: one for name, one in inspect.signature(recipe).parameters.items() if name != "domain"}


def parameter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds one option per parameter of any mechanism, with the mechanisms it belongs to as help."""
    owners: dict[str, list[str]] = {}
    for title, recipe in recipes().items():
        for name in parameters(recipe):
            owners.setdefault(name, []).append(title)
    for name, titles in sorted(owners.items(), reverse=True):
        flag = all(get_type_hints(recipes()[title])[name] is bool for title in titles)
        option = click.option(
            f"--{name.replace('_', '-')}", name, is_flag=flag, default=None, help=f"For {', '.join(titles)}.",
            metavar=None if flag else "VALUE",
        )  # fmt: skip
        command = option(command)
    return command


def make(mechanism: str, domain: Categorical, given: Mapping[str, Any]) -> Channel:
    """The channel of a mechanism. Raises UsageError for a parameter that is missing, foreign or not readable."""
    recipe = recipes()[mechanism]
    accepted, hints = parameters(recipe), get_type_hints(recipe)
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in accepted:
            raise click.UsageError(f"--{name.replace('_', '-')} does not belong to {mechanism}.")
    for name, parameter in accepted.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            raise click.UsageError(f"{mechanism} needs --{name.replace('_', '-')}.")
    return recipe(domain, **{name: _read(name, value, hints[name]) for name, value in given.items()})


def _read(name: str, value: Any, hint: Any) -> Any:
    """The value of an option as the mechanism's annotation wants it."""
    if isinstance(value, bool):
        return value
    kinds = [hint, *get_args(hint)]
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices:
        if value not in choices:
            raise click.UsageError(f"--{name} is {value!r}; allowed: {', '.join(map(str, choices))}.")
        return value
    if any(isinstance(kind, type) and issubclass(kind, Mapping) for kind in map(_origin, kinds)):
        return _mapping(name, value)
    try:
        return int(value) if int in kinds and float not in kinds else float(value) if float in kinds else value
    except ValueError:
        wanted = "a whole number" if float not in kinds else "a number"
        raise click.UsageError(f"--{name.replace('_', '-')} is {value!r}; it needs {wanted}.") from None


def _origin(kind: Any) -> Any:
    return get_origin(kind) or kind


def _mapping(name: str, text: str) -> dict[Any, Any]:
    """A mapping written as `key:value,key:value`, or a JSON file: an object, or a list of [labels, value]."""
    if text.endswith(".json"):
        try:
            document = json.loads(Path(text).read_text(encoding="utf-8"))
            if isinstance(document, list):
                pairs = {tuple(labels): value for labels, value in document}
                if len(pairs) < len(document):
                    raise click.UsageError(f"{text} lists something twice; each once, with its whole value.")
                return pairs
            return {_whole(key): value for key, value in document.items()}
        except (ValueError, TypeError, AttributeError):
            raise click.UsageError(f"{text} must hold an object, or a list of [[label, …], value].") from None
    pieces = [piece.partition(":") for piece in text.split(",")]
    if not all(colon and key.strip() and value.strip() for key, colon, value in pieces):
        raise click.UsageError(f"--{name} is {text!r}; write key:value,key:value (as in 2:1/2,4:1/2) or a .json file.")
    return {_whole(key.strip()): value.strip() for key, _, value in pieces}


def _whole(key: str) -> int | str:
    return int(key) if key.isdecimal() else key


@click.command()
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="The whole list as a page of documentation.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_mechanisms(name: str | None, markdown: bool, as_json: bool) -> None:
    """List the mechanisms, or describe the one called NAME."""
    known = {title.replace("_", "-"): getattr(mechanisms, title) for title in mechanisms.__all__}
    if markdown:
        click.echo(page(), nl=False)
    elif name is not None:
        if name.replace("_", "-") not in known:
            raise click.UsageError(f"There is no mechanism {name!r}; there are: {', '.join(known)}.")
        click.echo(_usage(name, known[name.replace("_", "-")]))
    elif as_json:
        click.echo(
            json.dumps({title: _first_line(made) for title, made in known.items()}, ensure_ascii=False, indent=1)
        )
    else:
        width = max(map(len, known))
        click.echo("\n".join(f"  {title:<{width}}  {_first_line(made)}" for title, made in known.items()))


def page() -> str:
    """The mechanisms as a page of the documentation, from their docstrings."""
    head = (
        "# Mechanisms\n\nA mechanism is a function from a domain and privacy parameters to a channel. This page is written by\n"
        "`reticent mechanisms --markdown`; `reticent design --mechanism NAME` uses them from a shell.\n"
    )
    named = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    return head + "".join(f"\n## `{name}`\n\n{_usage(name, made)}\n" for name, made in named.items())


def _usage(name: str, made: Recipe) -> str:
    text = inspect.cleandoc(made.__doc__ or "")
    signature = ", ".join(
        str(one).split(":")[0].split(" = ")[0] + _default(one) for one in inspect.signature(made).parameters.values()
    )
    fenced = re.sub(r"(?ms)^>>> .*", lambda found: f"```pycon\n{found.group(0).rstrip()}\n```", text)
    return f"`rt.{name.replace('-', '_')}({signature})`\n\n{fenced}"


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is inspect.Parameter.empty else f"={parameter.default!r}"


def _first_line(made: Recipe) -> str:
    return inspect.cleandoc(made.__doc__ or "").partition("\n")[0]
