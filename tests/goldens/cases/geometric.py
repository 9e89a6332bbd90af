"""Graphs: messages along edges, segments, new numbers for nodes."""

import numpy as np

from goldens.harness import Cases

cases = Cases("geometric")

SOURCE, END = np.array([0, 1, 2, 0, 3]), np.array([1, 2, 1, 0, 2])


def _graph(p, kind="int64"):
    return p.to_tensor(SOURCE.astype(kind)), p.to_tensor(END.astype(kind))


for how in ("sum", "mean", "max", "min"):
    cases.op(
        f"segment_{how}",
        lambda p, x, n=how: getattr(p.geometric, f"segment_{n}")(
            x, p.to_tensor(np.array([0, 0, 2, 2, 2]))
        ),
        lambda d: d.normal(5, 3),
    )
    cases.op(
        f"segment_{how}_ties",
        lambda p, x, n=how: getattr(p.geometric, f"segment_{n}")(
            x, p.to_tensor(np.array([0, 0, 1], "int32"))
        ),
        lambda d: np.array([[1.0, 2.0], [1.0, 3.0], [4.0, 4.0]], "float32"),
    )
    cases.op(
        f"segment_{how}_int",
        lambda p, x, n=how: getattr(p.geometric, f"segment_{n}")(
            x, p.to_tensor(np.array([0, 0, 1]))
        ),
        lambda d: np.array([[1, 2], [4, -7], [4, 4]]),
        grad=False,
    )
    cases.op(
        f"send_u_recv_{how}",
        lambda p, x, n=how: p.geometric.send_u_recv(x, *_graph(p), n),
        lambda d: d.normal(4, 3),
    )
    cases.op(
        f"send_u_recv_{how}_size",
        lambda p, x, n=how: p.geometric.send_u_recv(x, *_graph(p, "int32"), n, out_size=6),
        lambda d: d.normal(4),
    )
    cases.op(
        f"graph_send_recv_{how}",
        lambda p, x, n=how: p.incubate.graph_send_recv(x, *_graph(p), pool_type=n),
        lambda d: np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 4.0], [1.0, 3.0]], "float32"),
    )
    for message in ("add", "sub", "mul", "div"):
        cases.op(
            f"send_ue_recv_{message}_{how}",
            lambda p, x, y, n=how, m=message: p.geometric.send_ue_recv(x, y, *_graph(p), m, n),
            lambda d: (d.normal(4, 3), d.uniform(5, 1, low=0.5, high=2.0)),
        )

for message in ("add", "sub", "mul", "div"):
    cases.op(
        f"send_uv_{message}",
        lambda p, x, y, m=message: p.geometric.send_uv(x, y, *_graph(p), m),
        lambda d: (d.normal(4, 3), d.uniform(4, 3, low=0.5, high=2.0)),
    )

cases.op(
    "send_ue_recv_other_dimensions",
    lambda p, x, y: p.geometric.send_ue_recv(x, y, *_graph(p), "mul", "sum"),
    lambda d: (d.normal(4, 2, 3), d.normal(5)),
)
cases.op(
    "reindex_graph",
    lambda p, x, near: list(
        p.geometric.reindex_graph(x, near, p.to_tensor(np.array([2, 3, 2], "int32")))
    ),
    lambda d: (np.arange(3), np.array([8, 9, 0, 4, 7, 6, 7])),
    grad=False,
)
cases.op(
    "reindex_heter_graph",
    lambda p, x, a, b: list(
        p.geometric.reindex_heter_graph(
            x,
            [a, b],
            [p.to_tensor(np.array(c, "int32")) for c in ([2, 3, 2], [1, 3, 1])],
        )
    ),
    lambda d: (np.arange(3), np.array([8, 9, 0, 4, 7, 6, 7]), np.array([0, 2, 3, 5, 1])),
    grad=False,
)
cases.error(
    "unsorted_segments",
    lambda p: p.geometric.segment_sum(p.ones([3, 2]), p.to_tensor(np.array([1, 0, 2]))),
)
cases.error(
    "unknown_reduction",
    lambda p: p.geometric.send_u_recv(p.ones([4, 2]), *_graph(p), "median"),
)
cases.error(
    "unknown_message",
    lambda p: p.geometric.send_uv(p.ones([4, 2]), p.ones([4, 2]), *_graph(p), "pow"),
)
