"""The `spark-submit` line that runs pipelines on a cluster which is not a standalone one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from penstock.config import Settings
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
    """What differs from one kind of cluster to the other."""

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
    """Pipelines that are to run on a cluster; `environment` has the settings that their driver needs, as variables."""

    pipelines: Sequence[Pipeline]
    settings: Settings
    environment: Mapping[str, str]
    jars: Sequence[Path]
    target: Target

    def lines(self) -> Iterator[str]:
        """What to see to first, as comments and a command, and then the line itself."""
        yield "# driver and executors need Python with penstock installed, or an environment packed by venv-pack"
        places = (self.settings.lake, *(pipeline.state(self.settings) for pipeline in self.pipelines))
        if any(is_local(place) for place in places):
            yield "# the lake is a local path: name one that all nodes share, by PENSTOCK_LAKE=s3a://bucket/path"
        if len({pipeline.directory for pipeline in self.pipelines}) > 1:
            yield "# the files are in several directories: copy them and what they name into one"
        line = " \\\n  ".join(self._words())
        if HIDDEN in line:
            yield f"# put the secrets in the place of {HIDDEN}"
        yield shlex.join(["tar", "-czf", self._archive, "-C", str(self.pipelines[0].directory), "."])
        yield line

    @property
    def _archive(self) -> str:
        return f"{self.pipelines[0].spec.name}.tar.gz"

    def _words(self) -> Iterator[str]:
        cluster = _CLUSTERS[self.target]
        options = session_options(self.jars, spark_conf(self.pipelines, self.settings), cluster.master)
        yield f"spark-submit --master {shlex.quote(self._master(cluster))} --deploy-mode cluster"
        yield f"--name {shlex.quote(' '.join(pipeline.spec.name for pipeline in self.pipelines))}"
        yield f"--jars {shlex.quote(options['spark.jars'])}"
        yield f"--archives {shlex.quote(f'{self._archive}#{_FOLDER}')}"
        settings = {f"{cluster.environment}{name}": value for name, value in self.environment.items()}
        for name, value in {**cluster.further, **settings, **options}.items():
            if name not in _HERE:
                yield f"--conf {shlex.quote(f'{name}={hide(name, value)}')}"
        yield shlex.join([submit.__file__, *(f"{_FOLDER}/{pipeline.file.path.name}" for pipeline in self.pipelines)])

    def _master(self, cluster: Cluster) -> str:
        named = self.pipelines[0].spec.spark.master
        return named if named.split(":")[0] == cluster.master.split(":")[0] else cluster.master
