"""The end of a run folder: what was appended while the job ran becomes Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.account import NAMES, UNTOLD
from argosy.foundation.files import replacing
from argosy.foundation.progress import progress
from argosy.runtime.observe.run_folder import (
    RAW,
    RAW_NAME,
    TABLES,
    read_facts,
    read_lines,
    read_steps,
)

_STEPS_NAME, _TABLES_NAME = "steps.parquet", "tables.parquet"


def is_unfinished(path: Path) -> bool:
    """Whether the steps of a run are still raw: it runs, or its launcher was killed."""
    return (path / RAW_NAME).exists()


def finish(path: Path) -> None:
    """Turn the raw steps and the tables of a run that is over into Parquet."""
    if not is_unfinished(path):
        return
    import pyarrow.parquet as pq

    facts = read_facts(path)
    labels = [str(each["label"]) for each in facts["processes"]] or [""]
    size = (path / RAW_NAME).stat().st_size
    with replacing(path / _STEPS_NAME) as file, progress(f"writing {_STEPS_NAME}", size) as told:
        empty = _steps(np.empty(0, RAW), labels, facts["clock_s"])
        with pq.ParquetWriter(file, empty.schema, compression="zstd") as writer:
            for rows in read_steps(path, len(facts["processes"])):
                writer.write_table(_steps(rows, labels, facts["clock_s"]))
                told(rows.nbytes)
    samples = read_lines(path, TABLES)
    if samples:
        with replacing(path / _TABLES_NAME) as file:
            pq.write_table(_tables(samples), file, compression="zstd")
        (path / TABLES).unlink()
    (path / RAW_NAME).unlink()


def _steps(rows: npt.NDArray[Any], labels: Sequence[str], clock_s: float) -> Any:
    import pyarrow as pa

    seconds = {name: rows[name] / 1e9 for name in ("wall", *NAMES)}
    named = sum(seconds[name] for name in NAMES)
    process = pa.DictionaryArray.from_arrays(rows["process"].astype(np.int32), list(labels))
    return pa.table(
        {
            "process": process,
            "step": rows["number"],
            "began_s": rows["began"] / 1e9 - clock_s,
            "wall_s": seconds.pop("wall"),
            "compute_s": rows["wall"] / 1e9 - named,
            **{f"{name}_s": values for name, values in seconds.items()},
            "latest_rank": rows["latest"],
            "loss": pa.array(rows["loss"], mask=np.isnan(rows["loss"])),
            "script_step": pa.array(rows["told"], mask=rows["told"] == UNTOLD),
        }
    )


def _tables(samples: Sequence[Mapping[str, Any]]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(
        [{"at_s": one["at_s"], **table} for one in samples for table in one["tables"]]
    )
