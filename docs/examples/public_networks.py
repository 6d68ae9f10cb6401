"""The tables of docs/differences.md: where devices differ from PyTorch, measured.

    pip install '.[executorch]' torchvision
    python docs/examples/public_networks.py

prints the three public networks and the transposed convolutions of issue 230, with the seed below.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import torch
import torchvision

from qemu_nn import executorch

SEED = 17

#: Name -> what makes it, and the side of its images.
NETWORKS = {
    "SqueezeNet 1.1": (torchvision.models.squeezenet1_1, 224),
    "Inception v3": (torchvision.models.inception_v3, 96),
    "ResNet-50": (torchvision.models.resnet50, 64),
}

#: Channels in and out, filter, padding, and whether a ReLU is fused; all have stride 2.
TRANSPOSED = [(4, 2, 3, 1, True), (4, 2, 3, 1, False), (4, 2, 3, 0, True), (8, 4, 4, 1, False)]


def lowered(module, shape, samples):
    """Return a program for the M55, an image, and the module."""
    images = [torch.randn(shape) for _ in range(samples)]
    image = torch.randn(shape)
    return executorch.lower(module, (image,), images, target="cortex-m55"), image


def differing(program, image):
    """Return the comparison, and the findings of nodes that differ by themselves."""
    compared = executorch.compare(program, (image,), target="cortex-m55")
    return compared, [each for each in compared.findings if not each.same]


def network(name):
    """Return one row of each of the two tables on networks."""
    make, side = NETWORKS[name]
    torch.manual_seed(SEED)
    module = make(weights=None).eval()
    program, image = lowered(module, (1, 3, side, side), 4)
    compared, parted = differing(program, image)
    print(f"{name}, {side}: {len(parted)} of {len(compared.findings)} part by themselves")
    print("   ", *(finding.name for finding in parted))
    print("   ", "\n    ".join(parted[0].lines()))
    exported = program.exported_program()
    *_, last = (n for n in exported.graph.nodes if "dequantize" in str(n.target))
    scale = last.args[1]
    device = np.asarray(executorch.run(program, (image,), target="cortex-m55").outputs[0])
    real = module(image).detach().numpy()
    steps = {"device from float": device - real}
    try:
        reference = exported.module()(image)
    except Exception as error:  # what PyTorch has not for int8
        print(f"    no reference: {str(error).splitlines()[0][:100]}")
    else:
        reference = (reference if torch.is_tensor(reference) else reference[0]).detach().numpy()
        steps["device from reference"] = device - reference
        steps["reference from float"] = reference - real
    for what, apart in steps.items():
        count = np.count_nonzero(apart)
        print(f"    {what}: {np.abs(apart).max() / scale:.1f} steps at most, {count} differ")


def transposed(given):
    """Return a row of the table on issue 230."""
    inputs, outputs, side, padding, relu = given
    torch.manual_seed(SEED)
    layer = torch.nn.ConvTranspose2d(inputs, outputs, side, 2, padding)
    module = torch.nn.Sequential(layer, torch.nn.ReLU()) if relu else layer
    program, image = lowered(module.eval(), (1, inputs, 4, 4), 4)
    _, parted = differing(program, image)
    print(f"ConvTranspose2d of {given}:", *(parted[0].lines()[1:2] if parted else ["none"]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for each in TRANSPOSED:
        transposed(each)
    for each in sys.argv[1:] or NETWORKS:
        network(each)
