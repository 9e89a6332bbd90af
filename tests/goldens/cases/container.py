"""Sequential, LayerList, LayerDict, ParameterList, ParameterDict: names, order, state and
printing.
"""

import itertools
from collections import OrderedDict

from goldens.harness import Cases

cases = Cases("container")


def describe(layer):
    """Everything by which scripts find the parts of a layer."""
    return {
        "state": [str(k) for k in layer.state_dict()],
        "parameters": [name for name, _ in layer.named_parameters()],
        "sublayers": [name for name, _ in layer.named_sublayers()],
        "repr": repr(layer),
    }


def linears(paddle, *sizes):
    return [paddle.nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]


def sized(layers):
    """Which Linear is where: sizes tell them apart."""
    return [[int(layer.weight.shape[0]), int(layer.weight.shape[1])] for layer in layers]


@cases.add("sequential_positional")
def _(paddle, draw):
    return describe(paddle.nn.Sequential(*linears(paddle, 2, 3, 4)))


@cases.add("sequential_named")
def _(paddle, draw):
    a, b = linears(paddle, 2, 3, 4)
    return describe(paddle.nn.Sequential(("first", a), ("second", b)))


@cases.add("sequential_ordered_dict")
def _(paddle, draw):
    a, b = linears(paddle, 2, 3, 4)
    return describe(paddle.nn.Sequential(OrderedDict([("x", a), ("y", b)])))


@cases.add("sequential_empty")
def _(paddle, draw):
    model = paddle.nn.Sequential()
    return {"repr": repr(model), "len": len(model)}


@cases.add("sequential_forward")
def _(paddle, draw):
    model = paddle.nn.Sequential(*linears(paddle, 3, 4, 2))
    for p in model.parameters():
        p.set_value(draw.normal(*p.shape))
    x = paddle.to_tensor(draw.normal(5, 3))
    out = model(x)
    out.sum().backward()
    return {"out": out, "grads": [p.grad for p in model.parameters()]}


@cases.add("sequential_slices")
def _(paddle, draw):
    model = paddle.nn.Sequential(
        *[(f"n{i}", layer) for i, layer in enumerate(linears(paddle, 1, 2, 3, 4, 5))]
    )
    return {
        "head": sized(model[:2]),
        "head_names": describe(model[:2])["state"],
        "reversed": sized(model[::-1]),
        "last": sized([model[-1]]),
        "by_name": sized([model["n1"]]),
        "by_index": sized([model[1]]),
    }


@cases.add("sequential_edit")
def _(paddle, draw):
    model = paddle.nn.Sequential(*linears(paddle, 1, 2, 3))
    model.append(paddle.nn.Linear(3, 4))
    model.insert(1, paddle.nn.Linear(7, 8))
    model.insert(-1, paddle.nn.Linear(8, 9))
    model.extend(paddle.nn.Sequential(paddle.nn.Linear(4, 5)))
    model[0] = paddle.nn.Linear(6, 6)
    before = sized(model)
    del model[2]
    return {"before": before, "after": sized(model), "names": describe(model)["sublayers"]}


@cases.add("layer_list")
def _(paddle, draw):
    return describe(paddle.nn.LayerList(linears(paddle, 2, 3, 4)))


@cases.add("layer_list_edit")
def _(paddle, draw):
    layers = paddle.nn.LayerList(linears(paddle, 1, 2, 3, 4))
    layers.append(paddle.nn.Linear(4, 5))
    layers.insert(0, paddle.nn.Linear(9, 9))
    layers.insert(-1, paddle.nn.Linear(8, 8))
    layers.extend([paddle.nn.Linear(5, 6)])
    full = sized(layers)
    del layers[1]
    del layers[-1]
    layers[0] = paddle.nn.Linear(7, 7)
    return {
        "full": full,
        "edited": sized(layers),
        "slice": sized(layers[1:3]),
        "last": sized([layers[-1]]),
        "names": describe(layers)["sublayers"],
        "len": len(layers),
    }


@cases.add("layer_list_delete_slice")
def _(paddle, draw):
    layers = paddle.nn.LayerList(linears(paddle, 1, 2, 3, 4, 5, 6))
    del layers[1:4:2]
    return {"sizes": sized(layers), "names": describe(layers)["sublayers"]}


@cases.add("layer_list_pop_and_add")
def _(paddle, draw):
    layers = paddle.nn.LayerList(linears(paddle, 1, 2, 3, 4))
    popped = layers.pop(1)
    both = layers + paddle.nn.LayerList(linears(paddle, 5, 6))
    layers += linears(paddle, 6, 7)
    return {"popped": sized([popped]), "both": sized(both), "grown": sized(layers)}


@cases.add("layer_dict")
def _(paddle, draw):
    a, b, c = linears(paddle, 1, 2, 3, 4)
    layers = paddle.nn.LayerDict(OrderedDict([("a", a), ("b", b)]))
    layers["c"] = c
    layers.update([("d", paddle.nn.Linear(4, 5)), ("a", paddle.nn.Linear(9, 9))])
    popped = layers.pop("b")
    result = describe(layers)
    result.update(
        keys=list(layers.keys()), values=sized(layers.values()),
        items=[k for k, _ in layers.items()],
        popped=sized([popped]), len=len(layers), has=["a" in layers, "b" in layers],
        iter=list(layers),
    )  # fmt: skip
    del layers["a"]
    result["left"] = list(layers)
    layers.clear()
    result["cleared"] = len(layers)
    return result


def parameters(paddle, *sizes):
    return [
        paddle.create_parameter(
            [n], "float32", default_initializer=paddle.nn.initializer.Constant(n)
        )
        for n in sizes
    ]


@cases.add("parameter_list")
def _(paddle, draw):
    held = paddle.nn.ParameterList(parameters(paddle, 1, 2))
    held.append(parameters(paddle, 3)[0])
    held[1] = paddle.to_tensor([7.0, 8.0])
    return {
        "names": [name for name, _ in held.named_parameters()],
        "values": list(held),
        "second": held[1],
        "len": len(held),
        "repr": repr(held),
    }


@cases.add("parameter_dict")
def _(paddle, draw):
    a, b, c = parameters(paddle, 1, 2, 3)
    held = paddle.nn.ParameterDict({"a": a})
    held["b"] = b
    held.update([("c", c)])
    return {
        "names": [name for name, _ in held.named_parameters()],
        "values": [held[k] for k in held],
        "len": len(held),
    }


@cases.add("nested_names")
def _(paddle, draw):
    shared = paddle.nn.Linear(2, 2)
    inner = paddle.nn.LayerDict(
        {"x": shared, "y": paddle.nn.LayerList([shared, paddle.nn.Linear(2, 3)])}
    )
    return describe(paddle.nn.Sequential(("dict", inner), ("tail", paddle.nn.Sequential(shared))))


cases.error("sequential_of_number", lambda paddle: paddle.nn.Sequential(3))
cases.error("sequential_index", lambda paddle: paddle.nn.Sequential(paddle.nn.Linear(1, 1))[1])
cases.error(
    "sequential_negative_index", lambda paddle: paddle.nn.Sequential(paddle.nn.Linear(1, 1))[-2]
)
cases.error(
    "sequential_insert_far", lambda paddle: paddle.nn.Sequential().insert(2, paddle.nn.Linear(1, 1))
)
cases.error("sequential_insert_number", lambda paddle: paddle.nn.Sequential().insert(0, 2))
cases.error(
    "sequential_unknown_name", lambda paddle: paddle.nn.Sequential(paddle.nn.Linear(1, 1))["x"]
)
cases.error("layer_list_index", lambda paddle: paddle.nn.LayerList()[0])
cases.error(
    "layer_list_insert_far", lambda paddle: paddle.nn.LayerList().insert(2, paddle.nn.Linear(1, 1))
)
cases.error("layer_dict_key", lambda paddle: paddle.nn.LayerDict()["x"])
cases.error("layer_dict_triples", lambda paddle: paddle.nn.LayerDict([("a", 1, 2)]))
cases.error("layer_dict_number", lambda paddle: paddle.nn.LayerDict(3))
cases.error(
    "parameter_list_of_tensor", lambda paddle: paddle.nn.ParameterList([paddle.to_tensor([1.0])])
)
cases.error(
    "parameter_list_set_array",
    lambda paddle: paddle.nn.ParameterList(parameters(paddle, 1)).__setitem__(0, 3.0),
)
cases.error(
    "parameter_dict_of_tensor",
    lambda paddle: paddle.nn.ParameterDict().__setitem__("a", paddle.to_tensor([1.0])),
)
