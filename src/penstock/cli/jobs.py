"""`penstock jobs`: metadata jobs stored in the database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from penstock.catalog.database import Database
from penstock.catalog.jobs.check import problems_of
from penstock.catalog.jobs.omissions import left_out
from penstock.catalog.jobs.properties_file import read_properties
from penstock.catalog.jobs.spec import JobSpec, read_spec
from penstock.catalog.jobs.store import Job, find_job, list_jobs, remove_job, save_job, set_active
from penstock.cli.options import JsonOption, YesOption, loaded_settings, settings
from penstock.cli.output import ask, counted, out, right, show_json, show_table, text
from penstock.config.secrets import hide
from penstock.errors import ConfigError, Problem

app = typer.Typer(no_args_is_help=True, help="Metadata jobs: topics, their processors and their tables.")

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="A job's number or name.")]


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="A WhereHows .job file or other properties.")],
    name: Annotated[str, typer.Option(help="The job's name; by default that of the file.")] = "",
) -> None:
    """Import a job's properties from a file into the database, if the properties are valid.

    Example: penstock jobs import gobblin.job
    """
    given = read_properties(file)
    chosen = settings()
    spec = read_spec(given.values, os.environ, given.place, own_cluster=chosen.bootstrap)
    with Database(chosen) as database, database.transaction() as connection:
        if problems := problems_of(connection, spec, given.place):
            raise ConfigError(problems)
        job = save_job(connection, name or file.stem, given.values)
    _show_notes(spec)
    out.print(f"job {job.job_id} {text(job.name)} reads {counted(len(spec.routes), 'topic')}")


@app.command("list")
def show_list(as_json: JsonOption = False) -> None:
    """List the jobs.

    Example: penstock jobs list
    """
    with Database(settings()) as database, database.transaction() as connection:
        jobs = list_jobs(connection)
    if as_json:
        show_json([_job_json(job) for job in jobs])
    elif jobs:
        show_table((right("job"), "name", "topics", "state", right("revision")), map(_row, jobs))
    else:
        out.print("no jobs; [bold]penstock jobs import FILE[/] makes one")


@app.command()
def show(job: JobArgument, as_json: JsonOption = False) -> None:
    """Show a job's properties, with secrets hidden, and the number of records skipped on purpose.

    Example: penstock jobs show 1
    """
    with Database(settings()) as database, database.transaction() as connection:
        found = find_job(connection, job)
        omissions = left_out(connection, found.job_id)
    if as_json:
        show_json({**_job_json(found), "left_out": [each._asdict() for each in omissions]})
        return
    out.print(f"[bold]job {found.job_id} {text(found.name)}[/], {_state(found)}, revision {found.revision}")
    show_table(("property", "value"), ((text(key), text(value)) for key, value in _shown(found).items()))
    if omissions:
        columns = ("topic", "left out on purpose", right("records"))
        show_table(columns, ((text(each.topic), text(each.reason), f"{each.records:,}") for each in omissions))


@app.command()
def check(job: JobArgument, as_json: JsonOption = False) -> None:
    """Check whether a job can run, and report every problem.

    The exit code is 0 if the job can run, otherwise 2.

    Example: penstock jobs check 1
    """
    chosen = settings()
    with Database(chosen) as database, database.transaction() as connection:
        found = find_job(connection, job)
        spec, problems = _checked(found, chosen.bootstrap)
        if spec:
            problems = problems_of(connection, spec, lambda key: f"job {found.job_id}: {key}")
    if as_json:
        told = [{"place": item.place, "message": item.message, "hint": item.hint} for item in problems]
        show_json({"job": found.job_id, "name": found.name, "ok": not problems, "problems": told})
        raise typer.Exit(ConfigError.exit_code if problems else 0)
    if problems:
        raise ConfigError(problems)
    if spec:
        _show_notes(spec)
        columns = ("topic", "processor", "table")
        show_table(columns, ((text(route.topic), text(route.processor), text(route.table)) for route in spec.routes))
    out.print(f"job {found.job_id} {text(found.name)} is fit to run")


@app.command()
def pause(job: JobArgument) -> None:
    """Pause a job. A running job stops between two batches, and continues from there after a resume.

    Example: penstock jobs pause 1
    """
    _set_active(job, "paused", is_active=False)


@app.command()
def resume(job: JobArgument) -> None:
    """Resume a paused job. A running `penstock jobs run` picks it up within a few seconds.

    Example: penstock jobs resume 1
    """
    _set_active(job, "resumed", is_active=True)


def _set_active(job: str, done: str, *, is_active: bool) -> None:
    with Database(settings()) as database, database.transaction() as connection:
        found = set_active(connection, job, is_active=is_active)
    out.print(f"{done} job {found.job_id} {text(found.name)}")


@app.command()
def remove(job: JobArgument, yes: YesOption = False) -> None:
    """Remove a job from the database, and stop the job if running. The output stays in the catalog.

    Example: penstock jobs remove 1 --yes
    """
    ask(f"Remove job {job}?", yes=yes)
    with Database(settings()) as database, database.transaction() as connection:
        removed = remove_job(connection, job)
    out.print(f"removed job {removed.job_id} {text(removed.name)}")


@app.command()
def run(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JOB]...", help="Numbers or names; by default those of the settings, or else all that are active."
        ),
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="Serve Prometheus metrics on this port of localhost.")
    ] = None,
) -> None:
    """Run jobs until they are stopped: read and process each topic, merge into the catalog, publish the changes.

    Jobs changed, added, paused or removed in the database are updated here within a few seconds.
    Ctrl-C and SIGTERM stop between two batches, with all progress saved.

    Example: penstock jobs run 1 2
    """
    from penstock.cli import jobs_run  # noqa: PLC0415 - the other commands start without loading Spark

    chosen = loaded_settings(metrics_port=metrics_port).settings
    raise typer.Exit(jobs_run.run(jobs or chosen.jobs, chosen))


def _checked(job: Job, own_cluster: str) -> tuple[JobSpec | None, list[Problem]]:
    try:
        return read_spec(
            job.properties, os.environ, lambda key: f"job {job.job_id}: {key}", own_cluster=own_cluster
        ), []
    except ConfigError as error:
        return None, error.problems


def _show_notes(spec: JobSpec) -> None:
    for note in spec.notes:
        out.print(f"[dim]note[/] {text(note)}")


def _shown(job: Job) -> dict[str, str]:
    return {key: hide(key, value) for key, value in sorted(job.properties.items())}


def _row(job: Job) -> tuple[object, ...]:
    topics = job.properties.get("kafka.topics") or job.properties.get("kafka.consumer.topic", "")
    return job.job_id, text(job.name), text(topics), _state(job), job.revision


def _state(job: Job) -> str:
    return "active" if job.is_active else "[yellow]paused[/]"


def _job_json(job: Job) -> dict[str, object]:
    return {
        "job": job.job_id,
        "name": job.name,
        "active": job.is_active,
        "revision": job.revision,
        "properties": _shown(job),
    }
