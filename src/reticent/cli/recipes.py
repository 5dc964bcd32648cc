"""Mechanisms on the command line: every public mechanism for one question, and an option for each of its parameters.

Nothing here knows a mechanism by name: signatures and docstrings say it all, so a new mechanism needs no line here.
`formats` adds how well-known parameters are written.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import click

from reticent import mechanisms
from reticent.channel import Channel
from reticent.cli.formats import ELSEWHERE, choices, form, in_shell, is_of_sets, meaning
from reticent.cli.terminal import hint as next_step
from reticent.domain import Categorical
from reticent.engines.storage import parse_json

Recipe = Callable[..., Channel]


def recipes() -> dict[str, Recipe]:
    """Mechanisms by their name on the command line: those that make a channel for one domain."""
    named = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    return {
        name.replace("_", "-"): made
        for name, made in named.items()
        if get_type_hints(made).get("domain") is Categorical and issubclass(get_type_hints(made)["return"], Channel)
    }


def mechanism_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The name of a mechanism for one question, with hyphens or underscores. Raises BadParameter for another."""
    name = None if value is None else value.replace("_", "-")
    if name in ELSEWHERE:
        raise click.BadParameter(f"{name} goes beside a mechanism or instead of one: give {ELSEWHERE[name]}.")
    if name is not None and name not in recipes():
        raise click.BadParameter(f"{value!r} is not one of {', '.join(recipes())}; see `reticent mechanisms`.")
    return name


def told(fault: Exception) -> str:
    """The message of an exception about a design, as it is said in a shell."""
    return in_shell(str(fault), {**recipes(), **ELSEWHERE})


def parameters(recipe: Recipe) -> dict[str, inspect.Parameter]:
    """The parameters of a mechanism besides its domain."""
    return {name: one for name, one in inspect.signature(recipe).parameters.items() if name != "domain"}


def parameter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds one option per parameter of any mechanism: what it means, its form, and the mechanisms it belongs to."""
    owners: dict[str, list[str]] = {}
    for title, recipe in recipes().items():
        for name in parameters(recipe):
            owners.setdefault(name, []).append(title)
    for name, titles in sorted(owners.items(), reverse=True):
        hints = [get_type_hints(recipes()[title])[name] for title in titles]
        flag = all(hint is bool for hint in hints)
        option = click.option(
            f"--{name.replace('_', '-')}", name, is_flag=flag, default=None,
            help=f"{meaning(name)} For {', '.join(titles)}.".strip(), metavar=None if flag else form(name, hints[0]),
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
            raise click.UsageError(f"{mechanism} needs --{name.replace('_', '-')} {form(name, hints[name])}.")
    return recipe(domain, **{name: _read(name, value, hints[name]) for name, value in given.items()})


def _read(name: str, value: Any, hint: Any) -> Any:
    """The value of an option as the mechanism's annotation wants it."""
    if isinstance(value, bool):
        return value
    kinds = [hint, *get_args(hint)]
    if allowed := choices(hint):
        if value not in allowed:
            raise click.UsageError(f"--{name} is {value!r}; allowed: {', '.join(allowed)}.")
        return value
    if is_of_sets(hint) and not value.endswith(".json"):
        raise click.UsageError(f"--{name} is {value!r}; give a .json file. {meaning(name)}".strip())
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
            document = parse_json(Path(text).read_bytes())
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
    return int(key) if key.isdecimal() and len(key) < 20 else key


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
        click.echo(_in_terminal(name.replace("_", "-"), known[name.replace("_", "-")]))
    elif as_json:
        click.echo(
            json.dumps({title: _first_line(made) for title, made in known.items()}, ensure_ascii=False, indent=1)
        )
    else:
        width = max(map(len, known))
        options = {title: f" ({option})" for title, option in ELSEWHERE.items()}
        lines = [f"  {title:<{width}}  {_first_line(made)}{options.get(title, '')}" for title, made in known.items()]
        click.echo("\n".join(lines))
        next_step("reticent mechanisms NAME")


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
    fenced = re.sub(r"(?ms)^>>> .*", lambda found: f"```pycon\n{found.group(0).rstrip()}\n```", text)
    return f"`rt.{name.replace('-', '_')}({_signature(made)})`\n\n{fenced}"


def _signature(made: Recipe) -> str:
    return ", ".join(
        str(one).split(":")[0].split(" = ")[0] + _default(one) for one in inspect.signature(made).parameters.values()
    )


def _in_terminal(name: str, made: Recipe) -> str:
    """What a mechanism does, and how it is asked for in a shell and in Python."""
    text = re.sub(r"(?ms)^>>> .*", "", inspect.cleandoc(made.__doc__ or "")).rstrip()
    lines = [name, "", text, ""]
    if name in ELSEWHERE:
        lines.append(f"In a shell: reticent design --column QUESTION --category A … {ELSEWHERE[name]}")
    elif name in recipes():
        lines.append(f"In a shell: reticent design --column QUESTION --category A … --mechanism {name}")
        hints = get_type_hints(made)
        for title, parameter in parameters(made).items():
            written = "" if hints[title] is bool else f" {form(title, hints[title])}"
            default = parameter.default
            usual = "" if hints[title] is bool or default is inspect.Parameter.empty else f" Default: {default}."
            lines.append(f"  --{title.replace('_', '-')}{written}\n      {meaning(title)}{usual}".rstrip())
    return "\n".join([*lines, f"In Python: rt.{name.replace('-', '_')}({_signature(made)})"])


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is inspect.Parameter.empty else f"={parameter.default!r}"


def _first_line(made: Recipe) -> str:
    return inspect.cleandoc(made.__doc__ or "").partition("\n")[0]
