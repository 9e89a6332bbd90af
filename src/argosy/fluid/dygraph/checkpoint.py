"""``save_dygraph`` and ``load_dygraph``: ``.pdparams`` and ``.pdopt`` files, which real Paddle
reads and writes too.
"""

from __future__ import annotations

import os
from typing import Any

from argosy.foundation.errors import BadArgument, CheckpointError
from argosy.framework import load, save
from argosy.tensor.engine import Parameter

_PARAMETERS, _OPTIMIZER = ".pdparams", ".pdopt"


class CheckpointMissing(CheckpointError, RuntimeError):
    """There is no file under the prefix."""


def save_dygraph(state_dict: dict[str, Any], model_path: str) -> None:
    """Save the state of a layer to ``model_path.pdparams``, that of an optimizer to
    ``model_path.pdopt``.

    Which of the two it is, its first value tells: a parameter or not.
    """
    if not os.path.basename(model_path):
        raise BadArgument(
            "save_dygraph: model_path must be dirname/filename, but received the folder "
            f"{model_path!r}"
        )
    if not state_dict:
        raise BadArgument("save_dygraph: state_dict is empty, no need to save")
    is_model = isinstance(next(iter(state_dict.values())), Parameter)
    save(state_dict, model_path + (_PARAMETERS if is_model else _OPTIMIZER), protocol=2)


def load_dygraph(
    model_path: str, keep_name_table: bool = False
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Load what ``save_dygraph`` wrote, as arrays: the state of the layer and that of the
    optimizer, None where there is none.
    """
    prefix = model_path.removesuffix(_PARAMETERS).removesuffix(_OPTIMIZER)
    paths = [prefix + suffix for suffix in (_PARAMETERS, _OPTIMIZER)]
    if not any(map(os.path.exists, paths)):
        raise CheckpointMissing(
            f"load_dygraph: Parameter file [ {paths[0]} ] not exists, nor does {paths[1]}"
        )
    parameters, optimizer = (
        load(path, keep_name_table=keep_name_table, return_numpy=True)
        if os.path.exists(path)
        else None
        for path in paths
    )
    return parameters, optimizer
