"""Whole networks for a host without Python: planned here, run by tests/c/networks.c there.

usage: python tests/support/planned.py HEADER
"""

import sys
from pathlib import Path

import numpy as np

from qemu_nn._native import ffi
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.bench.wuqi_networks import NPU_NETWORKS
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import NPU, profile

DEVICES = ((NETWORKS, profile()), (S8_NETWORKS, profile(cmsis="7.0.0")), (NPU_NETWORKS, NPU))


def bytes_in_c(name, data):
    """Return bytes as a C array that is aligned for every element type."""
    words = np.frombuffer(bytes(data) + bytes(-len(data) % 8), "<u8")
    return f"static const uint64_t {name}[] = {{{','.join(f'{word}u' for word in words)}}};\n"


def network(label, graph, device):
    """C arrays of a network: its steps, an input, and what plain rows make of it; and its row in a
    table of all."""
    session = Session(graph, device, variant="plain")
    x = draw_inputs(graph, 1)
    results = session.run(x)
    text, steps = bytes_in_c(f"{label}_x", x.tobytes()), []
    for number, step in enumerate(session.plan.steps):
        parts = {"params": bytes(ffi.buffer(step.params))}
        for role, key in (("weights", step.node.weights), ("bias", step.node.bias)):
            parts[role] = b"" if key is None else graph.arrays[key].tobytes()
        names = {
            part: f"{label}_{number}_{part}" if data else "NULL" for part, data in parts.items()
        }
        text += "".join(bytes_in_c(names[part], data) for part, data in parts.items() if data)
        inputs = [*step.inputs, 0, 0][:3]
        spare = 0 if step.spare is None else step.sizes.inputs[0]
        fields = [f'"{step.row.op.name}", "{step.row.op.type}"', *names.values()]
        fields += [len(parts["weights"]), len(parts["bias"])]
        fields += [f"{{{', '.join(map(str, inputs))}}}", step.output, step.spare or 0, spare]
        steps.append(f"    {{{', '.join(map(str, fields))}}},\n")
    text += f"static const planned_step {label}_steps[] = {{\n{''.join(steps)}}};\n"
    plan = session.plan
    stores = [f"{{{s.after}, {s.address}, {s.tensor.nbytes}}}" for s in plan.stores]
    text += f"static const qn_store {label}_stores[] = {{{', '.join(stores)}}};\n"
    want = b"".join(results[store.tensor.name].tobytes() for store in plan.stores)
    text += bytes_in_c(f"{label}_want", want)
    sizes = [len(plan.steps), len(plan.stores), plan.inputs[0], x.nbytes, plan.arena_bytes]
    arrays = [f"{label}_{what}" for what in ("steps", "stores", "x", "want")]
    row = ", ".join([f'"{label}"', *arrays, *map(str, [*sizes, plan.cleared])])
    return text, f"    {{{row}}},\n"


def main(path):
    texts, rows = [], []
    for made, device in DEVICES:
        for name, make in made.items():
            if not name.startswith("mobilenet_100"):
                text, row = network(name, make(), device)
                texts.append(text)
                rows.append(row)
    whole = f"{''.join(texts)}static const planned networks[] = {{\n{''.join(rows)}}};\n"
    Path(path).write_text(whole, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
