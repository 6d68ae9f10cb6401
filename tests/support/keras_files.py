"""Model files as Keras 2 and 3 write them, made without Keras."""

import io
import json
import zipfile
from collections import Counter

import numpy as np


def layer(kind, name, weights=(), inbound=None, **config):
    """Return a layer: its class, name, arrays, and the names of its inputs."""
    return {
        "kind": kind,
        "name": name,
        "weights": list(weights),
        "inbound": inbound,
        "config": config,
    }


def sequential(*layers, name="net"):
    return {"class_name": "Sequential", "layers": layers, "name": name}


def functional(*layers, inputs, outputs, name="net"):
    return {
        "class_name": "Functional",
        "layers": layers,
        "name": name,
        "in": inputs,
        "out": outputs,
    }


def described(model, style):
    """Return the JSON of a model in the style of Keras 2 or 3."""
    layers = []
    for each in model["layers"]:
        if "layers" in each:
            entry = described(each, style)
            entry["name"] = each["name"]
        else:
            config = {"name": each["name"], **each["config"]}
            entry = {"class_name": each["kind"], "config": config, "name": each["name"]}
        if each.get("inbound") is not None:
            entry["inbound_nodes"] = [_inbound(each["inbound"], style)] if each["inbound"] else []
        layers.append(entry)
    config = {"name": model["name"], "layers": layers}
    if model["class_name"] == "Functional":
        config["input_layers"] = [[name, 0, 0] for name in model["in"]]
        config["output_layers"] = [[name, 0, 0] for name in model["out"]]
    return {"class_name": model["class_name"], "config": config}


def _inbound(names, style):
    if style == 2:
        return [[name, 0, 0, {}] for name in names]
    tensors = [
        {"class_name": "__keras_tensor__", "config": {"keras_history": [n, 0, 0]}} for n in names
    ]
    return {"args": tensors if len(tensors) == 1 else [tensors], "kwargs": {}}


def every(model):
    """Yield all layers of a model and of the models in it."""
    for each in model["layers"]:
        yield from every(each) if "layers" in each else [each]


def write_h5(path, model, style=2):
    import h5py

    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(described(model, style))
        weights = file.create_group("model_weights")
        for each in every(model):
            group = weights.create_group(each["name"])
            names = [f"{each['name']}/w{i}:0" for i in range(len(each["weights"]))]
            group.attrs["weight_names"] = [name.encode() for name in names]
            for name, array in zip(names, each["weights"]):
                group.create_dataset(name, data=np.asarray(array, np.float32))
    return path


SNAKE = {"Conv2D": "conv2d", "Dense": "dense", "BatchNormalization": "batch_normalization"}


def write_keras(path, model, style=3):
    import h5py

    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        _write_layers(file, "", model)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", json.dumps(described(model, style)))
        archive.writestr("model.weights.h5", data.getvalue())
    return path


def _write_layers(file, place, model):
    seen = Counter()
    for each in model["layers"]:
        kind = each.get("kind", each.get("class_name"))
        stem = SNAKE.get(kind, kind.lower())
        name = f"{place}layers/{stem}{f'_{seen[stem]}' if seen[stem] else ''}"
        seen[stem] += 1
        if "layers" in each:
            _write_layers(file, f"{name}/", each)
            continue
        group = file.create_group(f"{name}/vars")
        for index, array in enumerate(each["weights"]):
            group.create_dataset(str(index), data=np.asarray(array, np.float32))
