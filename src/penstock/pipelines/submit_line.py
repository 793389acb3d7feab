"""The `spark-submit` line for running pipelines on YARN or Kubernetes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from penstock.config import Settings
from penstock.config.java_properties import properties_text
from penstock.config.secrets import HIDDEN, hide
from penstock.pipelines import submit
from penstock.pipelines.driver import spark_conf
from penstock.pipelines.pipeline import Pipeline
from penstock.spark.files import is_local
from penstock.spark.session import session_options

Target = Literal["yarn", "kubernetes"]

_HERE = ("spark.jars", "spark.driver.extraJavaOptions")
_FOLDER = "pipelines"


@dataclass(frozen=True)
class Cluster:
    """Differences between cluster types."""

    master: str
    environment: str
    further: Mapping[str, str]


_CLUSTERS: Mapping[Target, Cluster] = {
    "yarn": Cluster("yarn", "spark.yarn.appMasterEnv.", {}),
    "kubernetes": Cluster(
        "k8s://https://<host>:<port>",
        "spark.kubernetes.driverEnv.",
        {
            "spark.kubernetes.container.image": "<image with Python and penstock>",
            "spark.kubernetes.file.upload.path": "s3a://<bucket>/<path>",
        },
    ),
}


@dataclass(frozen=True)
class Submission:
    """Pipelines to run on a cluster. `environment` holds the driver's settings as environment variables."""

    pipelines: Sequence[Pipeline]
    settings: Settings
    environment: Mapping[str, str]
    jars: Sequence[Path]
    target: Target

    def lines(self) -> Iterator[str]:
        """Yield preparation steps, as comments and commands, followed by the `spark-submit` line."""
        yield "# driver and executors need Python with penstock installed, or an environment packed by venv-pack"
        places = (self.settings.lake, *(pipeline.state(self.settings) for pipeline in self.pipelines))
        if any(is_local(place) for place in places):
            yield "# the lake is a local path: name one that all nodes share, by PENSTOCK_LAKE=s3a://bucket/path"
        if len({pipeline.directory for pipeline in self.pipelines}) > 1:
            yield "# the files are in several directories: copy them and what they name into one"
        shown = {name: hide(name, value) for name, value in self._options().items()}
        secret = {name: value for name, value in shown.items() if HIDDEN in value}
        line = " \\\n  ".join(self._words({name: value for name, value in shown.items() if name not in secret}, secret))
        if secret:
            yield f"# replace {HIDDEN} in this private file, which keeps the secrets off the command line"
            yield f"(umask 077; cat > {shlex.quote(self._secrets)} <<'END'"
            yield f"{properties_text(secret)}END\n)"
        yield shlex.join(["tar", "-czf", self._archive, "-C", str(self.pipelines[0].directory), "."])
        yield line

    @property
    def _archive(self) -> str:
        return f"{self.pipelines[0].spec.name}.tar.gz"

    @property
    def _secrets(self) -> str:
        return f"{self.pipelines[0].spec.name}.properties"

    def _options(self) -> dict[str, str]:
        cluster = _CLUSTERS[self.target]
        options = session_options(self.jars, spark_conf(self.pipelines, self.settings), cluster.master)
        environment = {f"{cluster.environment}{name}": value for name, value in self.environment.items()}
        return {**cluster.further, **environment, **options}

    def _words(self, shown: Mapping[str, str], secret: Mapping[str, str]) -> Iterator[str]:
        yield f"spark-submit --master {shlex.quote(self._master(_CLUSTERS[self.target]))} --deploy-mode cluster"
        yield f"--name {shlex.quote(' '.join(pipeline.spec.name for pipeline in self.pipelines))}"
        yield f"--jars {shlex.quote(shown['spark.jars'])}"
        yield f"--archives {shlex.quote(f'{self._archive}#{_FOLDER}')}"
        if secret:
            yield f"--properties-file {shlex.quote(self._secrets)} --load-spark-defaults"
        for name, value in shown.items():
            if name not in _HERE:
                yield f"--conf {shlex.quote(f'{name}={value}')}"
        yield shlex.join([submit.__file__, *(f"{_FOLDER}/{pipeline.file.path.name}" for pipeline in self.pipelines)])

    def _master(self, cluster: Cluster) -> str:
        named = self.pipelines[0].spec.spark.master
        return named if named.split(":")[0] == cluster.master.split(":")[0] else cluster.master
