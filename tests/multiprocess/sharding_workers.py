"""What the ranks do in the tests of sharding."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import paddle
from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.parallel.exchange import OwnedGradients
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import ReducerOptions
from argosy.runtime.parallel.sharding.sharded_optimizer import ShardedOptimizer
from paddle.distributed.sharding import group_sharded_parallel, save_group_sharded_model
from support import models
from support.job import joined_job

Meeting = dict[str, Any]
STEPS = 6


@contextlib.contextmanager
def fresh_names() -> Iterator[None]:
    """Parameters are named as in a new process, as they are when a checkpoint is loaded."""
    with paddle.utils.unique_name.guard():
        yield


def make_optimizer(kind: str, model: Any) -> Any:
    rates = paddle.optimizer.lr.StepDecay(0.05, step_size=2, gamma=0.5)
    clip = paddle.nn.ClipGradByGlobalNorm(0.1)
    params = model.parameters()
    if kind == "adamw":
        return paddle.optimizer.AdamW(rates, parameters=params, weight_decay=0.1, grad_clip=clip)
    if kind == "groups":
        groups = [
            {
                "params": params[:2],
                "weight_decay": 0.1,
                "grad_clip": paddle.nn.ClipGradByGlobalNorm(0.05),
            },
            {"params": params[2:], "learning_rate": 0.5},
        ]
        return paddle.optimizer.Momentum(rates, parameters=groups, grad_clip=clip)
    if kind == "sgd":
        return paddle.optimizer.SGD(rates, parameters=params, grad_clip=clip)
    return paddle.optimizer.Momentum(
        rates, parameters=params, grad_clip=paddle.nn.ClipGradByNorm(0.1)
    )


def run(
    model: Any,
    optimizer: Any,
    steps: Any,
    dtype: str,
    rank: int,
    world_size: int,
    name: str = "mlp",
) -> list[float]:
    size = models.BATCH // world_size
    losses = []
    for step in steps:
        x, y = (a[rank * size : (rank + 1) * size] for a in models.batch(name, step, dtype))
        loss = paddle.nn.functional.cross_entropy(model(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        optimizer._learning_rate.step()
        losses.append(float(loss))
    return losses


def face(
    rank: int,
    world_size: int,
    meeting: Meeting,
    *,
    level: str,
    kind: str,
    dtype: str,
    backend: str,
    name: str = "mlp",
) -> tuple[list[float], dict[str, np.ndarray], list[str], dict[str, np.ndarray]]:
    """Losses, the model's state, the names of the rank's own optimizer state, and the whole of
    it.
    """
    with joined_job(rank, world_size, meeting, backend), fresh_names():
        model = models.build(paddle, name, dtype)
        optimizer = make_optimizer(kind, model)
        wrapped, sharded, _ = group_sharded_parallel(model, optimizer, level, buffer_max_size=64)
        losses = run(wrapped, sharded, range(STEPS), dtype, rank, world_size, name)
        own = [
            key for key, value in sharded.state_dict().items() if isinstance(value, paddle.Tensor)
        ]
        whole = {
            k: v.numpy()
            for k, v in sharded.full_state_dict().items()
            if isinstance(v, paddle.Tensor)
        }
        return losses, models.state_of(model), own, whole


def hybrid(
    rank: int, world_size: int, meeting: Meeting, *, level: str, dtype: str = "float64"
) -> tuple[list[float], dict[str, np.ndarray], int]:
    """Two sharding groups of two ranks, averaged over both: losses, state, how many parameters this
    rank owns.
    """
    with joined_job(rank, world_size, meeting), fresh_names():
        rows = [paddle.distributed.new_group([0, 1]), paddle.distributed.new_group([2, 3])]
        columns = [paddle.distributed.new_group([0, 2]), paddle.distributed.new_group([1, 3])]
        model = models.build(paddle, "mlp", dtype)
        if rank >= 2:
            # the first replica's is what counts
            model[0].weight.set_value(np.zeros(model[0].weight.shape, dtype))
        wrapped, sharded, _ = group_sharded_parallel(
            model,
            make_optimizer("adamw", model),
            level,
            group=rows[rank // 2],
            dp_group=columns[rank % 2],
        )
        losses = run(wrapped, sharded, range(STEPS), dtype, rank, world_size)
        return losses, models.state_of(model), len(sharded.owned_parameters)


def gradients(
    rank: int, world_size: int, meeting: Meeting, *, level: str
) -> tuple[list[bool], list[bool]]:
    """After a backward: which parameters this rank owns, and which have a gradient; then that
    clearing and accumulation work.
    """
    with joined_job(rank, world_size, meeting):
        model = models.build(paddle, "mlp", "float64")
        optimizer = make_optimizer("adamw", model)
        wrapped, sharded, _ = group_sharded_parallel(model, optimizer, level)
        x, _ = models.batch("mlp", 0, "float64")
        mine = paddle.to_tensor(x[rank : rank + 1])
        wrapped(mine).sum().backward()
        owned = {id(p) for p in sharded.owned_parameters}
        has = [p.grad is not None for p in model.parameters()]
        alone = models.build(paddle, "mlp", "float64")
        expected = [_mean_gradient(alone, x, world_size, p) for p in range(len(model.parameters()))]
        _check(model, expected, 1.0)
        wrapped(mine).sum().backward()  # adds to the averages
        _check(model, expected, 2.0)
        sharded.clear_grad()
        with wrapped.no_sync():
            wrapped(mine).sum().backward()
        wrapped(mine).sum().backward()
        _check(model, expected, 2.0)
        if level == "os_g":
            message = ""
            try:
                with wrapped.no_sync():
                    wrapped(mine).sum().backward()
            except UsageError as error:
                message = str(error)
            assert "no_sync()" in message
        return [id(p) in owned for p in model.parameters()], has


def _mean_gradient(alone: Any, x: np.ndarray, world_size: int, index: int) -> np.ndarray:
    alone.clear_gradients()
    (alone(paddle.to_tensor(x[:world_size])).sum() / world_size).backward()
    return alone.parameters()[index].grad.numpy()


def _check(model: Any, expected: list[np.ndarray], times: float) -> None:
    for param, value in zip(model.parameters(), expected, strict=True):
        if param.grad is not None:
            np.testing.assert_allclose(param.grad.numpy(), times * value, rtol=1e-12, atol=1e-12)


def branches(rank: int, world_size: int, meeting: Meeting) -> list[Any]:
    """Stage 2 where ranks use different parameters: the gradients that are somewhere, by
    parameter.
    """
    with joined_job(rank, world_size, meeting):
        parts = paddle.nn.LayerList([paddle.nn.Linear(1, 1, bias_attr=False) for _ in range(3)])

        class Chosen(paddle.nn.Layer):
            def __init__(self) -> None:
                super().__init__()
                self.parts = parts

            def forward(self, x: paddle.Tensor, used: list[int]) -> paddle.Tensor:
                total = paddle.zeros([1, 1])
                for index in used:
                    total = total + self.parts[index](x)
                return total

        sgd = paddle.optimizer.SGD(0.1, parameters=parts.parameters())
        model, sharded, _ = group_sharded_parallel(Chosen(), sgd, "os_g", buffer_max_size=1)
        found = []
        for used in ([0, 1], [rank]), ([2] if rank == 0 else [], [0]):
            for choice in used:
                model(paddle.full([1, 1], 1.0 + rank), choice).sum().backward()
            found.append([None if p.grad is None else p.grad.item() for p in parts.parameters()])
            sharded.clear_grad(set_to_zero=False)
        return found


def save(rank: int, world_size: int, meeting: Meeting, *, level: str, folder: str) -> list[float]:
    """Train half of the steps and save; then go on to the end for comparison."""
    with joined_job(rank, world_size, meeting), fresh_names():
        model = models.build(paddle, "mlp", "float64")
        wrapped, sharded, _ = group_sharded_parallel(model, make_optimizer("adamw", model), level)
        run(wrapped, sharded, range(3), "float64", rank, world_size)
        save_group_sharded_model(wrapped, folder, sharded)
        return run(wrapped, sharded, range(3, STEPS), "float64", rank, world_size)


def resume(
    rank: int, world_size: int, meeting: Meeting, *, level: str, folder: str, before: bool
) -> list[float]:
    """Go on from what another number of ranks saved, loaded before or after sharding."""
    with joined_job(rank, world_size, meeting), fresh_names():
        model = models.build(paddle, "mlp", "float64")
        model.set_state_dict(paddle.load(f"{folder}/model.pdmodel"))
        optimizer = make_optimizer("adamw", model)
        state = paddle.load(f"{folder}/model.pdopt")
        if before:
            optimizer.set_state_dict(state)
        wrapped, sharded, _ = group_sharded_parallel(model, optimizer, level)
        if not before:
            sharded.set_state_dict(state)
        return run(wrapped, sharded, range(3, STEPS), "float64", rank, world_size)


def memory(rank: int, world_size: int, meeting: Meeting, *, level: str) -> tuple[int, int]:
    """Bytes of optimizer state on this rank, and in total."""
    with joined_job(rank, world_size, meeting), fresh_names():
        layers = [paddle.nn.Linear(32, 32) for _ in range(16)]
        model = paddle.nn.Sequential(*layers)
        adam = paddle.optimizer.Adam(0.01, parameters=model.parameters())
        wrapped, sharded, _ = group_sharded_parallel(model, adam, level)
        wrapped(paddle.ones([2, 32])).sum().backward()
        sharded.step()
        own = sum(t.raw.nbytes for t in sharded.state_dict().values())
        return own, sum(t.raw.nbytes for t in sharded.full_state_dict().values())


def masters(
    rank: int, world_size: int, meeting: Meeting, *, level: str
) -> tuple[dict[str, Any], list[str]]:
    """Low-precision parameters with float32 masters: the masters, and that their state goes round
    trip.
    """
    with joined_job(rank, world_size, meeting), fresh_names():
        model = models.build(paddle, "mlp", "float32")
        rule = make_optimizer("adamw", model)
        model, rule = paddle.amp.decorate(model, rule, level="O2", dtype="bfloat16")
        wrapped, sharded, _ = group_sharded_parallel(model, rule, level)
        for step in range(3):
            x, _ = models.batch("mlp", step, "float32")
            wrapped(paddle.to_tensor(x).astype("bfloat16")).sum().backward()
            sharded.step()
            sharded.clear_grad()
        whole = sharded.full_state_dict()
        sharded.set_state_dict(whole)
        assert all(
            np.array_equal(v.numpy(), whole[k].numpy())
            for k, v in sharded.state_dict().items()
            if k in whole and k.endswith("moment1_0")
        )
        return {k: v.numpy() for k, v in whole["master_weights"].items()}, sorted(
            sharded.state_dict()["master_weights"]
        )


def overflow(
    rank: int, world_size: int, meeting: Meeting, *, level: str
) -> tuple[list[float], list[float]]:
    """One rank's input overflows in the second step: the scales and a weight after each step."""
    with joined_job(rank, world_size, meeting):
        model = models.build(paddle, "mlp", "float32")
        sgd = paddle.optimizer.SGD(0.1, parameters=model.parameters())
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
        wrapped, sharded, scaler = group_sharded_parallel(model, sgd, level, scaler)
        scales, weights = [], []
        for step in range(3):
            x, _ = models.batch("mlp", step, "float32")
            if step == 1 and rank == world_size - 1:
                x = x * np.float32(3e38)
            # what a scaler wants to have seen
            with paddle.amp.auto_cast(enable=False, dtype="float16"):
                loss = scaler.scale(wrapped(paddle.to_tensor(x)).square().sum())
            loss.backward()
            scaler.step(sharded)
            scaler.update()
            sharded.clear_grad()
            scales.append(float(scaler._scale))
            weights.append(float(model.parameters()[0].numpy().sum()))
        return scales, weights


def refusals(rank: int, world_size: int, meeting: Meeting) -> list[str]:
    """The words of each refusal."""
    found = []
    with joined_job(rank, world_size, meeting):
        model = paddle.nn.Linear(2, 2)
        sgd = paddle.optimizer.SGD(0.1, parameters=model.parameters())
        plain = torch.nn.Linear(2, 2)
        for error, pair, options in (
            (AssertionError, (model, sgd), {"level": "p_g"}),
            (
                NotSupported,
                (plain, torch.optim.SGD(plain.parameters())),
                {"level": "os", "sync_buffers": True},
            ),
        ):
            try:
                group_sharded_parallel(*pair, **options)
            except error as caught:
                found.append(str(caught))
        half = paddle.optimizer.SGD(0.1, parameters=model.parameters()[:1])
        table = paddle.nn.Embedding(4, 2, sparse=True)
        for layer, rule in (
            (model, half),
            (table, paddle.optimizer.SGD(0.1, parameters=table.parameters())),
        ):
            try:
                group_sharded_parallel(layer, rule, "os_g")
            except UsageError as caught:
                found.append(str(caught))

        class OwnClip(paddle.nn.ClipGradByGlobalNorm):
            pass

        more = paddle.optimizer.SGD(0.1, parameters=model.parameters() + table.parameters())
        clipped = paddle.optimizer.SGD(0.1, parameters=model.parameters(), grad_clip=OwnClip(1.0))
        for rule, options in ((more, {}), (clipped, {}), (sgd, {"exclude_layer": "Linear"})):
            try:
                group_sharded_parallel(model, rule, "os", **options)
            except (UsageError, AssertionError) as caught:
                found.append(str(caught))
    return found


def uneven(
    rank: int, world_size: int, meeting: Meeting | None = None, *, level: str
) -> tuple[list[float], dict[str, np.ndarray]]:
    """Models of one parameter and of very different ones: losses of all steps, states of both
    models.
    """

    class Scaled(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.first = paddle.nn.Linear(4, 50)
            self.second = paddle.nn.Linear(50, 4, bias_attr=False)
            self.scale = self.create_parameter([1], dtype="float32")

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            return self.second(paddle.tanh(self.first(x))) * self.scale

    losses, state = [], {}
    with (
        contextlib.nullcontext() if meeting is None else joined_job(rank, world_size, meeting),
        fresh_names(),
    ):
        for name, model in (("one", paddle.nn.Linear(4, 4, bias_attr=False)), ("many", Scaled())):
            draw = np.random.RandomState(7)
            model.astype("float64")
            for param in model.parameters():
                param.set_value(draw.uniform(-0.5, 0.5, param.shape))
            rule = make_optimizer("adamw", model)
            if meeting is not None:
                options = {"segment_size": 3, "exclude_layer": ["Conv2D"]}
                model, rule, _ = group_sharded_parallel(model, rule, level, **options)
            for step in range(3):
                x = np.random.RandomState(step).normal(size=(6, 4))
                mine = x[rank * 6 // world_size : (rank + 1) * 6 // world_size]
                loss = model(paddle.to_tensor(mine)).square().mean()
                loss.backward()
                rule.step()
                rule.clear_grad()
                with paddle.no_grad():
                    losses.append(float(model(paddle.to_tensor(x)).square().mean()))
            state |= {f"{name}.{key}": value.numpy() for key, value in model.state_dict().items()}
    return losses, state


# -- plain PyTorch
# ----------------------------------------------------------------------------------------------


def torch_model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 16),
        torch.nn.Tanh(),
        torch.nn.Linear(16, 16),
        torch.nn.Tanh(),
        torch.nn.Linear(16, 3),
    ).double()


def torch_train(
    model: Any,
    optimizer: Any,
    clip: Any,
    steps: Any,
    rank: int,
    world_size: int,
    scheduler: Any = None,
) -> list[float]:
    size = models.BATCH // world_size
    losses = []
    for step in steps:
        x, y = (
            torch.from_numpy(a[rank * size : (rank + 1) * size])
            for a in models.batch("mlp", step, "float64")
        )
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        clip()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def plain_torch(
    rank: int, world_size: int, meeting: Meeting, *, stage: int, folder: str, steps: tuple[int, int]
) -> tuple[list[float], list[np.ndarray], int]:
    """Train from the saved state, if there is one, and save; losses, parameters, number of tensors
    in the own state.
    """
    with joined_job(rank, world_size, meeting) as group:
        model = torch_model()
        adam = torch.optim.AdamW(
            [
                {"params": list(model[0].parameters())},
                {"params": [*model[2].parameters(), *model[4].parameters()], "lr": 0.01},
            ],
            lr=0.02,
        )
        optimizer = ShardedOptimizer(adam, group)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        options = ReducerOptions(bucket_bytes=1024)
        owned = OwnedGradients(optimizer.shards, options.bucket_bytes) if stage == 2 else None
        wrapped = DataParallelModule(model, group, options, exchange=owned)
        if steps[0]:
            saved = torch.load(f"{folder}/state.pt")
            wrapped.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            scheduler.load_state_dict(saved["scheduler"])
        losses = torch_train(
            wrapped,
            optimizer,
            lambda: optimizer.clip_grad_norm_(0.1),
            range(*steps),
            rank,
            world_size,
            scheduler,
        )
        state = optimizer.full_state_dict(dst=0)
        if rank == 0:
            torch.save(
                {
                    "model": wrapped.state_dict(),
                    "optimizer": state,
                    "scheduler": scheduler.state_dict(),
                },
                f"{folder}/state.pt",
            )
        params = [p.detach().numpy().copy() for p in model.parameters()]
        return losses, params, sum(len(s) for s in optimizer.state_dict()["state"].values())


def fully_sharded(
    rank: int, world_size: int, meeting: Meeting, *, segment_size: int, is_half: bool
) -> tuple[list[float], list[np.ndarray], list[int]]:
    """Stage 3 on all ranks, or on half of them: losses, whole parameters, elements of each
    parameter on this rank.
    """
    with joined_job(rank, world_size, meeting):
        groups = (
            [paddle.distributed.new_group([0, 2]), paddle.distributed.new_group([1, 3])]
            if is_half
            else [None]
        )
        group = groups[rank % 2] if is_half else None
        place, count = (rank // 2, 2) if is_half else (rank, world_size)
        model = torch_model()
        if rank:
            torch.nn.init.zeros_(model[0].weight)  # the first rank's is what counts
        if is_half and place == 0:
            model.load_state_dict(torch_model().state_dict())
        adam = torch.optim.AdamW(model.parameters(), lr=0.02)
        model, adam, _ = group_sharded_parallel(
            model, adam, "p_g_os", group=group, segment_size=segment_size
        )
        scheduler = torch.optim.lr_scheduler.StepLR(adam, 2, 0.5)
        clip = lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # noqa: E731
        losses = torch_train(model, adam, clip, range(4), place, count, scheduler)
        whole = [p.full_tensor().detach().numpy() for p in model.parameters()]
        return losses, whole, [p.to_local().numel() for p in model.parameters()]


def torch_by_level(
    rank: int, world_size: int, meeting: Meeting, *, level: str
) -> tuple[list[float], int]:
    """The same call for a torch module: losses, and how many gradients this rank has."""
    with joined_job(rank, world_size, meeting):
        model = torch_model()
        adam = torch.optim.AdamW(model.parameters(), lr=0.02)
        model, adam, _ = group_sharded_parallel(model, adam, level)
        scheduler = torch.optim.lr_scheduler.StepLR(adam, 2, 0.5)
        losses = torch_train(
            model, adam, lambda: adam.clip_grad_norm_(0.1), range(4), rank, world_size, scheduler
        )
        return losses, sum(p.grad is not None for p in model.parameters())


def torch_overflow(rank: int, world_size: int, meeting: Meeting) -> tuple[list[float], list[float]]:
    """torch.amp.GradScaler with stage 2, where the overflow is on one rank only."""
    from argosy.runtime.parallel.overflow import agree_on_overflow

    with joined_job(rank, world_size, meeting) as group:
        model = torch_model().float()
        optimizer = ShardedOptimizer(torch.optim.SGD(model.parameters(), 0.1), group)
        scaler = agree_on_overflow(torch.amp.GradScaler("cpu", init_scale=8.0), group)
        scales, weights = [], []
        for step in range(3):
            optimizer.zero_grad()
            for i, param in enumerate(model.parameters()):
                if optimizer.shards.owns(param):
                    param.grad = torch.full_like(
                        param, float("inf") if (step, i) == (1, 0) else 8.0
                    )
            scaler.scale(torch.zeros(()))
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
            weights.append(sum(p.sum().item() for p in model.parameters()))
        return scales, weights
