"""`penstock schemas`: list, show, register, check, diff and delete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, YesOption, settings
from penstock.cli.output import lines, out, right, show_json, show_table, text
from penstock.cli.schema_view import pretty, show_reasons, show_side_by_side
from penstock.errors import SchemaError, SchemaNotFound, UsageError
from penstock.schemas.evolution import Compatibility, Reason, reasons_against
from penstock.schemas.registry.admin import RegistryAdmin
from penstock.schemas.registry.protocol import RegisteredSchema, Version
from penstock.schemas.schema import Schema

app = typer.Typer(no_args_is_help=True, help="Schemas: list, show, register, check before sending, compare, delete.")

SubjectArgument = Annotated[str, typer.Argument(metavar="SUBJECT", help="Usually <topic>-value or <topic>-key.")]
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="An Avro schema file (.avsc).")]
SubjectOption = Annotated[str, typer.Option("--subject", "-s", help="The subject, usually <topic>-value.")]
ReferenceOption = Annotated[
    list[str] | None, typer.Option("--reference", help="A type of another subject: name=subject:version; repeatable.")
]


@app.command("list")
def list_subjects(as_json: JsonOption = False) -> None:
    """List the subjects with their versions, newest id and compatibility.

    Example: penstock schemas list
    """
    admin = RegistryAdmin(settings())
    rows = [_summary(admin, subject) for subject in admin.subjects()]
    if as_json:
        show_json(rows)
    elif rows:
        columns = ("subject", right("versions"), right("newest id"), "type", "compatibility")
        show_table(columns, [_subject_row(row) for row in rows])
    else:
        out.print("no schemas yet; [bold]penstock schemas register FILE --subject TOPIC-value[/] adds one")


def _summary(admin: RegistryAdmin, subject: str) -> dict[str, object]:
    versions, rule = admin.versions(subject), admin.compatibility(subject).value
    try:
        newest = admin.schemas.by_version(subject, "latest")
    except SchemaError as error:
        return {"subject": subject, "versions": versions, "id": None, "type": error.message, "compatibility": rule}
    name = newest.schema.name or newest.schema.text
    return {"subject": subject, "versions": versions, "id": newest.schema_id, "type": name, "compatibility": rule}


def _subject_row(row: dict[str, object]) -> tuple[object, ...]:
    versions = row["versions"]
    count = len(versions) if isinstance(versions, list) else 0
    return text(row["subject"]), count, row["id"], text(row["type"]), row["compatibility"]


@app.command()
def show(
    subject: SubjectArgument,
    version: Annotated[str, typer.Option("--version", "-v", help="A number, or latest.")] = "latest",
    as_json: JsonOption = False,
) -> None:
    """Show one version of a subject's schema.

    Example: penstock schemas show count-value --version 1
    """
    found = RegistryAdmin(settings()).schemas.by_version(subject, _version(version))
    if as_json:
        show_json(_registered_json(found))
        return
    out.print(f"[bold]{text(found.subject)}[/] version {found.version}, id {found.schema_id}")
    out.print(f"[dim]fingerprint {found.schema.fingerprint}[/]")
    for item in found.schema.references:
        out.print(f"refers to {text(item.name)} in {text(item.subject)} version {item.version}")
    out.print(lines(pretty(json.loads(found.schema.text))))


def _registered_json(found: RegisteredSchema) -> dict[str, object]:
    return {
        "subject": found.subject,
        "version": found.version,
        "id": found.schema_id,
        "fingerprint": found.schema.fingerprint,
        "references": [[item.name, item.subject, item.version] for item in found.schema.references],
        "schema": json.loads(found.schema.text),
    }


@app.command()
def register(file: FileArgument, subject: SubjectOption, reference: ReferenceOption = None) -> None:
    """Register a schema file as the subject's next version. Registering an identical schema has no effect.

    Example: penstock schemas register count.avsc --subject count-value
    """
    admin = RegistryAdmin(settings())
    schema = Schema.from_file(file, admin.references(reference or []))
    before = admin.versions(subject)
    found = admin.schemas.register(subject, schema)
    done = "was already" if found.version in before else "is now"
    out.print(f"{text(file)} {done} version {found.version} of {text(subject)}, id {found.schema_id}")


@app.command()
def check(
    file: FileArgument, subject: SubjectOption, reference: ReferenceOption = None, as_json: JsonOption = False
) -> None:
    """Check whether a schema file is compatible with the subject's versions. Report each reason with its location.

    The exit code is 0 if compatible, otherwise 1. Nothing is registered.

    Example: penstock schemas check count.avsc --subject count-value
    """
    admin = RegistryAdmin(settings())
    schema = Schema.from_file(file, admin.references(reference or []))
    versions, level = admin.history(subject), admin.compatibility(subject)
    accepted = admin.accepts(subject, schema) if versions else True
    reasons = [] if accepted else reasons_against(schema, versions, level)
    if as_json:
        show_json({"compatible": accepted, "level": level.value, "reasons": [_reason_json(item) for item in reasons]})
    elif accepted:
        _show_accepted(file, subject, level, versions)
    else:
        out.print(f"[bold red]not compatible[/]: {text(subject)} asks for {level.value}")
        show_reasons(reasons)
        if not reasons:
            out.print("  the registry has a reason of its own: by Avro's rules the two can be read")
    if not accepted:
        raise typer.Exit(1)


def _show_accepted(file: Path, subject: str, level: Compatibility, versions: list[RegisteredSchema]) -> None:
    if versions:
        last = versions[-1].version
        out.print(f"[green]compatible[/]: {text(file)} may follow version {last} of {text(subject)} ({level.value})")
    else:
        out.print(f"{text(subject)} has no versions yet, so {text(file)} may be its first")


def _reason_json(reason: Reason) -> dict[str, object]:
    return {
        "version": reason.version,
        "direction": reason.direction,
        "kind": reason.misreading.kind.value,
        "place": reason.misreading.place.pointer,
        "field": reason.misreading.place.field,
        "message": reason.misreading.message,
        "suggestion": reason.suggestion,
    }


@app.command()
def diff(
    subject: SubjectArgument,
    old: Annotated[str, typer.Argument(metavar="OLD", help="A version: a number or latest.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A version, or a schema file.")],
) -> None:
    """Show two versions of a schema, or a version and a file, side by side.

    Example: penstock schemas diff count-value 1 2
    """
    admin = RegistryAdmin(settings())
    before, after = _side(admin, subject, old), _side(admin, subject, new)
    show_side_by_side((f"{subject} {old}", before), (new if Path(new).suffix else f"{subject} {new}", after))


def _side(admin: RegistryAdmin, subject: str, wanted: str) -> Schema:
    if Path(wanted).suffix:
        return Schema.from_file(wanted)
    return admin.schemas.by_version(subject, _version(wanted)).schema


@app.command()
def delete(
    subject: SubjectArgument,
    version: Annotated[int | None, typer.Option("--version", "-v", help="Only this version.")] = None,
    permanent: Annotated[bool, typer.Option(help="For good: messages with its id cannot be read any more.")] = False,
    yes: YesOption = False,
) -> None:
    """Delete a subject, or one version. Without --permanent, messages remain readable.

    Example: penstock schemas delete count-value --version 2
    """
    admin = RegistryAdmin(settings())
    what = f"version {version} of {subject}" if version else f"all versions of {subject}"
    if not permanent and not admin.versions(subject):
        raise SchemaNotFound(f"there is no subject {subject}", hint="`penstock schemas list` shows what is there")
    if not yes:
        typer.confirm(f"Delete {what}{' for good' if permanent else ''}?", abort=True)
    if version:
        admin.delete_version(subject, version, permanent=permanent)
    else:
        admin.delete(subject, permanent=permanent)
    out.print(f"deleted {text(what)}{' for good' if permanent else ''}")


def _version(wanted: str) -> Version:
    if wanted == "latest":
        return "latest"
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    raise UsageError(f"{wanted!r} is not a version", hint="give a number from 1 on, or latest")
