"""``argosy.ray.FleetTrainer``: a job of Fleet whose processes Ray places, watches and starts
again.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from argosy.foundation import env
from argosy.foundation.errors import ConfigError, UsageError
from argosy.ray.folder import shared_folder
from argosy.ray.hiring import ended, hired
from argosy.ray.job import JobConfig
from argosy.ray.request import Servers, checked_servers, checked_workers
from argosy.ray.script import Script
from argosy.runtime.launch.spec import LaunchSpec

__all__ = ["FleetTrainer"]

_RESTARTS = 3  # as of elastic jobs of the launcher
# how often the controller looks at its workers: Ray's two seconds would be lost with each fault
_POLL, _POLL_S = "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.5"


class FleetTrainer:
    """Trains by a function or a script on a Ray cluster, with ``workers`` processes or, given a
    pair, as many between the two as there is room for, and with ``servers`` parameter servers.

    ``train`` is a function of no argument or of ``config``, or the path of a script, which gets
    ``script_args``. Every role runs it: with servers it asks ``fleet.is_server()``, as a script of
    ``fleetrun`` does. In workers ``ray.train.report`` and ``ray.train.get_checkpoint`` work.

    ``scaling_config`` (of ray.train) takes the place of ``workers``, ``resources_per_worker`` and
    ``use_gpu``. ``run_config`` says where the run is stored and how often workers are started
    again; without one, three times. ``tls`` encrypts what workers and servers say to each other;
    None does where servers have addresses that other hosts can reach.

    Example:
        >>> from argosy.ray import FleetTrainer
        >>> trainer = FleetTrainer(lambda: None, workers=(2, 4), servers=2)  # then trainer.fit()
    """

    def __init__(
        self,
        train: Callable[..., Any] | str | os.PathLike[str],
        *,
        workers: int | tuple[int, int] = 1,
        servers: int = 0,
        config: Mapping[str, Any] | None = None,
        script_args: Sequence[str] = (),
        resources_per_worker: Mapping[str, float] | None = None,
        resources_per_server: Mapping[str, float] | None = None,
        use_gpu: bool = False,
        scaling_config: Any = None,
        run_config: Any = None,
        datasets: Mapping[str, Any] | None = None,
        backend: str = "auto",
        tls: bool | None = None,
    ) -> None:
        self._train = _trained_by(train, script_args)
        self._call = _with_config(self._train)
        self._config = dict(config or {})
        if isinstance(self._train, Script) and config is not None:
            raise UsageError("FleetTrainer: a script takes script_args, not config")
        self._num_workers = checked_workers(workers)
        self._servers = checked_servers(servers, resources_per_server)
        if scaling_config is not None and (workers != 1 or resources_per_worker or use_gpu):
            raise UsageError(
                "FleetTrainer: scaling_config says how many workers there are and what each "
                "takes; leave out workers, resources_per_worker and use_gpu"
            )
        # Tune keeps what it reserves for a trial in ``_resources`` of what it is given, and calls
        # trials by its name
        self._per_worker = dict(resources_per_worker) if resources_per_worker else None
        self.__name__ = type(self).__name__
        self._use_gpu = use_gpu
        self._scaling_config, self._run_config = scaling_config, run_config
        self._datasets = dict(datasets) if datasets else None
        self._transport, self._tls = backend, tls

    def fit(self) -> Any:
        """Run the job and return ``ray.train.Result``; raises ``ray.train.TrainingFailedError``
        when it failed more often than ``FailureConfig.max_failures`` allows.
        """
        train = _needed()
        from argosy.ray.backend import FleetConfig
        from argosy.ray.elastic import FleetTraining
        from argosy.ray.trial import this_trial
        from argosy.ray.watch import NodeWatch
        from argosy.ray.worker import attended

        trial = this_trial()
        run = self._run_config or train.RunConfig(
            **(trial.storage if trial else {}),
            failure_config=train.FailureConfig(max_failures=_RESTARTS),
        )
        if trial:
            trial.check(run.name)
        callbacks = [NodeWatch(), *(trial.callbacks if trial else ())]
        run = dataclasses.replace(run, callbacks=[*run.callbacks, *callbacks])
        scaling = self._scaling_config or train.ScalingConfig(
            num_workers=self._num_workers,
            use_gpu=self._use_gpu,
            resources_per_worker=self._per_worker,
        )
        folder = "" if run.storage_filesystem else shared_folder(str(run.storage_path), run.name)
        with contextlib.ExitStack() as stack:
            progress = ""
            if folder and self._servers.count and run.failure_config.max_failures != 0:
                progress = os.path.join(folder, f".progress-{secrets.token_hex(6)}")
                stack.callback(shutil.rmtree, progress, ignore_errors=True)
            wanted = dataclasses.replace(
                self._servers, group=f"argosy-servers-{secrets.token_hex(6)}"
            )
            servers = stack.enter_context(hired(wanted))
            if env.missing((_POLL,)):  # Ray hands it on to the controller
                env.update({_POLL: _POLL_S})
                stack.callback(env.remove, _POLL)
            job = self._job(run.name, folder, progress, wanted, servers)
            training = FleetTraining(
                attended(self._call) if servers else self._call,
                train_loop_config=self._config,
                backend_config=FleetConfig(job),
                scaling_config=scaling,
                run_config=run,
                datasets=self._datasets,
                servers=wanted.group if servers else "",
            )
            try:
                return training.fit()
            except train.TrainingFailedError as error:
                for number, problem in enumerate(ended(servers)):
                    if problem:
                        error.add_note(f"server {number} of the job: {problem}")
                raise

    def __call__(self, config: Mapping[str, Any]) -> None:
        """Run the job as a trial of ``ray.tune.Tuner(trainer, param_space=...)``: with what the
        trial was given in place of what the trainer's ``config`` has of the same names.
        """
        if isinstance(self._train, Script):
            raise UsageError(
                "FleetTrainer: Tune varies config, and a script takes script_args; give Tuner a "
                "function that calls FleetTrainer(script, script_args=[...]).fit()"
            )
        trial = copy.copy(self)
        trial._config = {**self._config, **config}
        trial.fit()

    def _job(
        self, name: str, folder: str, progress: str, wanted: Servers, servers: tuple[Any, ...]
    ) -> JobConfig:
        from ray import cloudpickle

        script = self._train if isinstance(self._train, Script) else None
        return JobConfig(
            spec=LaunchSpec(
                script=script.path if script else "",
                script_args=script.args if script else (),
                job_id=name,
                log_dir=None,
                max_restart=1 if progress else 0,
                backend=self._transport,
                shows_table=False,
            ),
            wanted=wanted,
            servers=servers,
            function=b"" if script else cloudpickle.dumps((self._call, self._config)),
            folder=os.getcwd(),
            run_folder=folder,
            progress=progress,
            uses_tls=self._tls,
        )


def _needed() -> Any:
    """``ray.train``, or an error that says how to get it."""
    try:
        from ray import train
    except ImportError as error:
        raise ConfigError(
            'argosy.ray: Ray Train is not installed; pip install "argosy[ray]"'
        ) from error
    return train


def _trained_by(
    train: Callable[..., Any] | str | os.PathLike[str], args: Sequence[str]
) -> Callable[..., Any] | Script:
    if isinstance(train, str | os.PathLike):
        path = os.path.abspath(train)
        if not os.path.isfile(path):
            raise ConfigError(f"FleetTrainer: there is no script {path}")
        return Script(path, tuple(args), os.getcwd())
    if not callable(train):
        raise UsageError(
            f"FleetTrainer: train is a {type(train).__name__}, but must be a function or the path "
            "of a script"
        )
    if args:
        raise UsageError("FleetTrainer: a function takes config, not script_args")
    return train


def _with_config(train: Callable[..., Any]) -> Callable[[Any], Any]:
    """``train`` as a function of one argument."""
    needed = [
        p
        for p in inspect.signature(train).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) > 1:
        raise UsageError(
            f"FleetTrainer: train takes {len(needed)} arguments, but must take none, or the config"
        )

    def call(config: Any) -> Any:
        return train(config) if needed else train()

    return call
