"""The command line: plan, design, privatize, tally, estimate, leakage, findings, demo.

Exit codes: 0 fine, 1 a check failed, 2 wrong usage, 3 the data or a file cannot be used.
"""

from __future__ import annotations

from typing import Any

import click

from reticent.cli.answers import privatize, tally
from reticent.cli.designs import design
from reticent.cli.leakages import leakage
from reticent.cli.outcomes import demo, estimate, findings
from reticent.cli.planning import plan
from reticent.cli.recipes import list_mechanisms
from reticent.errors import ReticentError


class Failure(click.ClickException):
    """The data or a file cannot be used: one line, exit code 3."""

    exit_code = 3


class Commands(click.Group):
    """Commands whose errors are one line each, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ReticentError as fault:
            raise Failure(" ".join(str(fault).split())) from fault
        except BrokenPipeError:
            raise
        except OSError as fault:
            raise Failure(f"{fault.filename or 'a file'}: {fault.strerror or fault}") from fault

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of work, not of the alphabet


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="reticent")
def main() -> None:
    """Ask so that nobody has to tell.

    \b
    A design says which channel each answer goes through; privatize draws the
    reports; tally counts them; estimate reads the shares from the counts;
    leakage and findings say what was given away.
    """


for command in (demo, plan, design, privatize, tally, estimate, leakage, findings):
    main.add_command(command)
main.add_command(list_mechanisms, "mechanisms")
