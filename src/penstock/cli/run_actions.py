"""Implementation of `penstock run` for actions: several files in one process, until stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event

from penstock.actions.assembly import Mode
from penstock.actions.beats import beats_of
from penstock.actions.health import serve_health
from penstock.actions.loading import check_clients, is_enabled, load_pipeline
from penstock.actions.pipeline import Pipeline
from penstock.actions.processes import PipelineProcesses
from penstock.actions.runner import Charge, Runner
from penstock.actions.spec import PipelineSpec
from penstock.actions.tally import Counts, total
from penstock.actions.unit import PipelineThread
from penstock.actions.vitals import Vitals
from penstock.cli.leftovers import end_without
from penstock.cli.log_lines import logged
from penstock.cli.options import settings
from penstock.cli.output import counted, err, out, show_error, text
from penstock.cli.run_files import ActionOptions
from penstock.cli.signals import stops_by_signal
from penstock.config import Settings
from penstock.config.yaml_file import YamlFile
from penstock.errors import ConfigError, Problem


def run(files: Sequence[YamlFile], wrong: Sequence[Problem], options: ActionOptions) -> int:
    """Run the actions of these files until stopped. Return the exit code.

    A file with mistakes is skipped, unless no valid file remains. `wrong` holds the problems of unreadable files.
    """
    chosen = settings(metrics_port=options.metrics_port)
    specs = _load(files, wrong, chosen, all_must_be_right=options.check)
    if options.check:
        err.print(f"{counted(len(specs), 'action')} checked, nothing is wrong")
        return 0
    mode = Mode(options.max, options.events, _tell if options.dry_run else None)
    charges = [_charge(spec, chosen, mode) for spec in specs]
    runner = Runner(charges)
    stop, threads = Event(), threading.enumerate()
    with logged(), stops_by_signal(stop), _watched(runner, charges, chosen, mode):
        failures = runner.run(stop)
    _report(list(runner.vitals()))
    for error in failures.values():
        show_error(error)
    return end_without(threads, 1 if failures else 0)


def _load(
    files: Sequence[YamlFile], wrong: Sequence[Problem], chosen: Settings, *, all_must_be_right: bool
) -> list[PipelineSpec]:
    """Return the valid, enabled pipelines.

    Problems are shown, or raised if no pipeline is valid or `all_must_be_right`.
    """
    specs: dict[str, PipelineSpec] = {}
    problems = list(wrong)
    for file in files:
        if not is_enabled(file):
            err.print(f"[yellow]skipped[/] {text(file.path)} says enabled: false")
            continue
        try:
            spec = load_pipeline(file)
            check_clients(spec, file, chosen)
        except ConfigError as error:
            problems += error.problems
            continue
        if spec.name in specs:
            problems.append(Problem(file.place(("name",)), f"name: another file has the name {spec.name} as well"))
        specs.setdefault(spec.name, spec)
    if problems and (all_must_be_right or not specs):
        raise ConfigError(problems)
    if problems:
        show_error(ConfigError(problems))
    return list(specs.values())


def _charge(spec: PipelineSpec, chosen: Settings, mode: Mode) -> Charge:
    if spec.options.workers > 1 and mode == Mode():
        return PipelineProcesses(spec, chosen, in_worker)
    return PipelineThread(Pipeline(spec, chosen, mode))


def in_worker(work: Callable[[], int]) -> int:
    """Run a worker process: show its log, and do not wait for threads left behind by an action."""
    threads = threading.enumerate()
    with logged():
        code = work()
    return end_without(threads, code)


def _tell(line: str) -> None:
    out.print(text(line))


@contextmanager
def _watched(runner: Runner, charges: Sequence[Charge], chosen: Settings, mode: Mode) -> Iterator[None]:
    """Serve health and metrics, and send heartbeats, during the block. A dry run sends no heartbeats."""
    with ExitStack() as ends:
        host, port = chosen.metrics_host, chosen.metrics_port
        if port is not None:
            ends.callback(serve_health(runner.vitals, port, host))
            address = f"[{host}]" if ":" in host else host
            err.print(text(f"health is at http://{address}:{port}/healthz, metrics at /metrics"))
        for beats in beats_of(charges) if mode.preview is None else []:
            ends.callback(beats.close)
        yield


def _report(vitals: Sequence[Vitals]) -> None:
    """Print the event counts of each pipeline at the end."""
    for name in dict.fromkeys(each.pipeline for each in vitals):
        own = [each for each in vitals if each.pipeline == name]
        found: Counts = total(counts for each in own for counts in each.counts.values())
        err.print(
            f"[bold]{text(name)}[/] {own[0].stage}: {counted(found.received, 'event')}, {found.filtered:,} filtered,"
            f" {found.done:,} done, {found.failed:,} failed, {found.retried:,} retried"
        )
