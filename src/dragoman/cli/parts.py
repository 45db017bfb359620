"""`dragoman parts`: list trained parts, and share them on a model hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True)

Target = Annotated[
    str, typer.Argument(metavar="hf:OWNER/NAME", help="Repository on the hub, with @REVISION if wanted.")
]


@app.command("list")
def list_() -> None:
    """List the parts that come with the package, and those that were pulled."""
    from dragoman.cli.terminal import rendering
    from dragoman.core.environment import home
    from dragoman.models.part import FILE, read_part, shipped_parts

    pulled = {file.parent.relative_to(home() / "parts").as_posix(): file.parent for file in _files(home() / "parts")}
    table = rendering.table("part", "kind", "from")
    for origin, parts in (("the package", shipped_parts()), ("a hub or training", pulled)):
        for name, folder in sorted(parts.items()):
            if (folder / FILE).is_file():
                rendering.add_row(table, name, read_part(folder).kind, origin)
    rendering.out().print(table)


@app.command()
def push(
    *,
    part: Annotated[str, typer.Argument(metavar="PART", help="Folder of a trained part.")],
    target: Target,
    public: Annotated[bool, typer.Option("--public", help="Let everybody see it. Default: private.")] = False,
) -> None:
    """Upload a part with its model card.

    Needs the token of an account on the hub in HF_TOKEN, or `hf auth login`. HF_ENDPOINT names another hub.
    """
    from dragoman.models.hub import hub_name, push_part
    from dragoman.models.part import open_part
    from dragoman.train.agent_tables import uses

    name = hub_name(target)
    tables = "\n\n".join(use.toml for use in uses(open_part(part), name.repository))
    typer.echo(push_part(part, name, private=not public, tables=tables))
    typer.echo(f"Others get it with: dragoman parts pull hf:{name.repository}")


@app.command()
def pull(source: Target) -> None:
    """Download a part, check it, and keep it in $DRAGOMAN_HOME/parts.

    Repositories with anything but data formats (a pickle, a program) are refused, and so are files whose hashes differ
    from those in part.json and parts for a base model that is not here.
    """
    from dragoman.models.hub import hub_name, pull_part
    from dragoman.train.agent_tables import uses

    name = hub_name(source)
    part = pull_part(name)
    typer.echo(f"{part.kind}: {part.folder}")
    for use in uses(part, name.repository):
        typer.echo(f"Use it: in agent.toml, {use.line}")
        if use.note:
            typer.echo(f"        {use.note}")


def _files(root: Path) -> list[Path]:
    from dragoman.models.part import FILE

    return sorted([*root.glob(f"*/{FILE}"), *root.glob(f"*/*/{FILE}")])
