"""Networks that run, float and quantized: read from files, saved, and shown at a glance."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union

import numpy as np

from ..errors import Error, ModelError
from ..importers import READERS, Reader, read_model
from ..io.arguments import as_count, as_path, as_text, format_value
from ..io.stages import announce
from ..ir.builds import find_target
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..ir.input_summary import InputSummary
from ..ir.original import Original
from ..ir.preprocessing import Preprocessing
from ..ir.stored import weight_bytes
from ..ir.tflm_memory import TflmFigures
from ..kernels.devices import profile_for
from ..qnz.package import save_package
from ..runtime.evaluate import evaluate
from ..runtime.host import Host, predict_float
from ..runtime.npu import check_npu
from ..runtime.session import Session
from ..targets import DEFAULT_CORE, Profile, Target
from ..targets import chip as find_chip
from .described import (
    LayerInfo,
    TensorInfo,
    describe_float,
    describe_layers,
    describe_operators,
    describe_tensor,
)
from .framework_objects import is_model, written

if TYPE_CHECKING:
    from ..analysis.fit import Fit
    from ..analysis.repr_summary import Glance
    from ..analysis.table import Table

#: The formats of model files, the project's own first.
_READERS = (Reader((".qnz",), "qemu_nn.qnz"), *READERS)

#: Bytes that fit() reserves for the stack where the caller does not say.
DEFAULT_STACK = 4096


#: Suffixes of models, and the most that a message names.
#: Files that stand for their folder.
_IN_FOLDERS = ("network.json", "saved_model.pb")
_MODELS, _NAMED = (".tflite", ".qnz", ".onnx", ".pte", ".espdl"), 3

#: Method that other libraries have -> what does the same here.
_INSTEAD = {
    "run": "use session().run(codes), predict(floats) or qemu_nn.run(network, data)",
    "invoke": "use session().run(codes), predict(floats) or qemu_nn.Interpreter",
    "trace": "use session().run(codes, trace=True)",
    "summary": "print the network, or its layers",
    **{
        name: f"use qemu_nn.{name}(network, ...)"
        for name in ("evaluate", "analyze", "export", "golden", "validate", "datasheet", "estimate")
    },
}


@dataclass(frozen=True, eq=False)
class Network:
    """A quantized network, ready to be planned for a device.

    load() and quantize() return one; it pickles, and prints as a table of its layers.

    Attributes
    ----------
    graph : ir.graph.Graph
        The calls of layer functions, their weights and their tensors.
    reference : ir.float_graph.FloatGraph or None
        The float network that it was quantized from, channels last, whose tensors have the names
        of the layers; None if it did not come from one.
    notes : tuple of str
        A sentence for each thing that quantize() had to change or make coarser, or that a file's
        network computes in another way than the file's own tool.
    preprocessing : Preprocessing or None
        What raw samples, such as pixels, become before they are real inputs.
    before, after : ir.float_graph.FloatGraph or None
        Steps in floats of a quantized .onnx file: what the host computes before the device's inputs
        and after its outputs.
    tflm_figures : ir.tflm_memory.TflmFigures or None
        Memory that TensorFlow Lite Micro needs for the file, besides tensors; None if the network
        does not come from a .tflite file.
    calibration : ir.input_summary.InputSummary or None
        Figures of the inputs that quantize() calibrated with; analyze() compares its data with
        them.
    curve : analysis.table.Table or None
        What each change of a layer's width costs, where quantize() had a budget: layer, bits,
        flash, ram, cycles, and the signal-to-noise ratio of the scores in decibels. Of
        fine_tune() the figures of each epoch.
    original : ir.original.Original or None
        The network that a compiler of an NPU read, and what the compiler made of its operators;
        None if the network is not compiled, or the original is not known.

    Raises
    ------
    Error
        The graph is not an ir.graph.Graph, or there is a preprocessing of several inputs.
    """

    graph: Graph
    reference: Optional[FloatGraph] = None
    notes: tuple[str, ...] = ()
    preprocessing: Optional[Preprocessing] = None
    curve: Optional[Table] = None
    before: Optional[FloatGraph] = None
    after: Optional[FloatGraph] = None
    tflm_figures: Optional[TflmFigures] = None
    calibration: Optional[InputSummary] = None
    original: Optional[Original] = None

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise Error(_no_graph("Network", self.graph))
        if self.preprocessing is not None and not isinstance(self.preprocessing, Preprocessing):
            raise Error(
                f"preprocessing must be a Preprocessing, not {format_value(self.preprocessing)}"
            )
        assert self.host  # whose parts fit each other

    @property
    def host(self) -> Host:
        """The conversion of floats to codes and of outputs to scores: the two ends of predict()."""
        return Host(self.graph, self.reference, self.preprocessing, self.before, self.after)

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """The inputs, in the order of the file."""
        return tuple(map(describe_tensor, self.graph.inputs))

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The outputs, in the order of the file."""
        return tuple(describe_tensor(self.graph.tensors[name]) for name in self.graph.outputs)

    @property
    def layers(self) -> tuple[LayerInfo, ...]:
        """The layers, in the order in which the device computes them."""
        return describe_layers(self.graph)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes that the scores are for; empty where the file has none."""
        return self.graph.classes

    def __repr__(self) -> str:
        return glance(self).text()

    def _repr_html_(self) -> str:
        return glance(self).html()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, which says where another library's method is here."""
            hint = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
            raise AttributeError(f"'Network' object has no attribute {name!r}{hint}")

    def session(
        self,
        target: Union[str, Target] = DEFAULT_CORE,
        *,
        variant: Optional[str] = None,
        threads: int = 1,
    ) -> Session:
        """Plan the network for a device.

        Parameters
        ----------
        target : str or Target, default "cortex-m4"
            The device: a core ("m4"), a chip ("stm32f411"), a path of targets.PATHS, or a Target,
            which also has the release of CMSIS-NN and its build.
        variant : str, optional
            A variant of the kernel table, such as "avx2", or "plain", for all layers that have
            such a row; default: the best rows of this host. It never changes a bit.
        threads : int, default 1
            Threads that share the samples of a batch.

        Returns
        -------
        Session
            The planned network.

        Raises
        ------
        Error
            A name is unknown, or the device could not run a layer; the sentence has the choices,
            or the layer's constraint.

        Examples
        --------
        >>> network.session(target=Target("cortex-m55", rounding="single"))
        """
        return Session(self.graph, self.profile(target), variant, threads, host=self.host)

    def predict(
        self,
        x: Any,
        layout: Optional[str] = None,
        *,
        target: Union[str, Target] = DEFAULT_CORE,
        variant: Optional[str] = None,
        threads: int = 1,
    ) -> Union[np.ndarray, dict[str, np.ndarray]]:
        """Compute float scores of float inputs, with the device's bits in between.

        The host prepares and rounds the inputs, Session.run() computes what the device computes,
        and the scores are what its integers stand for. Each call plans the network: for many calls
        keep a session(), and call its predict().

        Parameters
        ----------
        x : array_like
            A sample or a batch: an array, a torch tensor, lists, or what has `__array__` or DLPack;
            of several inputs a list of these, or a dictionary by their names. Floats, or
            pixels, are what the float network takes, or what the network's preprocessing makes
            that of. Integers of the input's own type, as run() takes them, are codes already,
            unless a preprocessing may have raw samples of this type. Of a recurrent network
            (N, T, ...) or (T, ...).
        layout : {"NHWC", "NCHW"}, optional
            The layout of images, in x and in the result; default: what the shape of x tells,
            and in the result that of the file that was loaded.
        target, variant, threads
            As session() takes them.

        Returns
        -------
        ndarray of float64, shape (N, *output shape), or dict of str to ndarray
            The scores; of several outputs by the names of the source file. Without the axis N where
            x is a single sample. The attribute `layout` of images tells their axes, such as "NCHW".

        Raises
        ------
        Error
            The numbers do not fit the network, or the device could not run it.

        Warns
        -----
        InputWarning
            The inputs use a handful of the format's codes, or a tenth of them saturates.

        Examples
        --------
        >>> network.predict(images, target="cortex-m55").argmax(-1)
        """
        return self.session(target, variant=variant, threads=threads).predict(x, layout)

    def profile(self, target: Union[str, Target, Profile] = DEFAULT_CORE) -> Profile:
        """Return whose arithmetic a device has, for this network.

        Parameters
        ----------
        target : str, Target or Profile, default "cortex-m4"
            The device, as session() takes it; a profile is returned as it is. The default of a
            network of ESP-DL is the chip of its file.

        Returns
        -------
        targets.Profile
            Release, path, rounding, and the build of TensorFlow Lite Micro.

        Raises
        ------
        Error
            A name is unknown, the release does not have this core or rounding, the network is
            compiled for another NPU, or the file of a network of ESP-DL names no chip.
        """
        if not isinstance(target, Profile):
            target = find_target(self.graph, target)
            check_npu(self.graph, target)
        return profile_for(self.graph.ops, target)

    def plot_memory(self, target: Union[str, Target] = DEFAULT_CORE) -> Any:
        """Draw the arena over the calls of a run, as TensorFlow Lite Micro plans it.

        Parameters
        ----------
        target : str or Target, default "cortex-m4"
            The device, as session() takes it.

        Returns
        -------
        matplotlib.figure.Figure
            A new figure of pyplot.

        Raises
        ------
        Error
            The firmware of the network has buffers of its own, or matplotlib is missing.

        Examples
        --------
        >>> load("net.tflite").plot_memory("m4").savefig("memory.png")
        """
        from ..analysis.charts import plot_charts
        from ..analysis.summary import summarize

        chart = summarize(self.session(target).plan, {}).memory
        if chart is None:
            raise Error(
                f"{self.graph.name} has no arena: its firmware has buffers of its own; "
                "`qemu-nn info` lists them"
            )
        return plot_charts([chart])

    def plot_curve(self) -> Any:
        """Draw what each change of a layer's width cost, or what each epoch of training gave.

        Returns
        -------
        matplotlib.figure.Figure
            A new figure of pyplot: the signal-to-noise ratio of the scores against the bytes of
            flash, or against RAM or cycles where the flash does not change.

        Raises
        ------
        Error
            The network was quantized without a budget, or matplotlib is missing.
        """
        from ..analysis.charts import chart_curves, plot_charts

        if self.curve is None:
            raise Error(
                f"{self.graph.name} has no curve: give quantize() a budget, such as flash= or "
                "accuracy="
            )
        return plot_charts(chart_curves(self.curve))

    def fit(self, target: Union[str, Target], *, stack: int = DEFAULT_STACK) -> Fit:
        """Say whether weights, memory and stack of the network fit into a chip.

        Parameters
        ----------
        target : str or Target
            The device, as session() takes it, which must be a chip of chips.CHIPS, with or
            without its package: "stm32f411", "STM32F411RE"; a board, "nucleo-f411re"; or the
            figures of a chip, "flash=512K,ram=128K".
        stack : int, default 4096
            Bytes to reserve for the stack.

        Returns
        -------
        Fit
            A table of flash, RAM and its largest block, and whether all suffice: of exported
            firmware (`fits`), and of a .tflite file in TensorFlow Lite Micro (`fits_tflm`). Code is
            not counted: `left` says how much flash is left.

        Raises
        ------
        Error
            The chip or another name is unknown, or the device could not run the network.

        Examples
        --------
        >>> network.fit("stm32f411").fits
        """
        from ..analysis.fit import Fit
        from ..firmware.memory import list_buffers
        from ..runtime.arena import plan_tflm_memory

        name = target.device if isinstance(target, Target) else target
        found, stack = find_chip(name), as_count(stack, "stack", 0)
        plan = self.session(target).plan
        weights, memory = weight_bytes(self.graph), None
        if self.tflm_figures is not None:
            memory = plan_tflm_memory(plan.graph, plan.profile, self.tflm_figures)
        return Fit(self.graph.name, found, weights, list_buffers(plan), stack, memory)

    def save(self, path: Union[str, Path]) -> None:
        """Write the network, with its reference, notes and preprocessing, as one file for load().

        Parameters
        ----------
        path : str or Path
            A file that ends in ".qnz", which holds all of the network; or in ".tflite", which
            TensorFlow Lite Micro and LiteRT run, too. That one does not hold the float reference,
            nor the host's steps before and after the device;
            of what raw samples become it holds (raw - mean) / std of bytes, if that makes the same
            integers of all bytes. A file that ends in ".espdl" has the calls of a network of
            ESP-DL alone, for the chip that it was quantized for. It is written whole or not at all.

        Raises
        ------
        Error
            The path has another ending, or an optional package is missing.
        ModelError
            The file cannot be written, or .tflite files do not hold such a network: with formats
            of powers of two, with loops, or with a call that has no operator; the sentence names
            it.
        """
        from .espdl_file import save_espdl
        from .tflite_file import check_ending, save_tflite

        path = as_path(path, "the file of a network")
        check_ending(path)
        if path.suffix == ".espdl":
            save_espdl(self.graph, path)
            return
        if path.suffix == ".tflite":
            save_tflite(self.graph, path, self.preprocessing)
            return
        steps = {"before": self.before, "after": self.after}
        save_package(
            *(self.graph, path, self.reference, self.preprocessing, self.notes, steps),
            calibration=self.calibration,
            curve=self.curve,
            original=self.original,
        )


@dataclass(frozen=True, eq=False)
class FloatNetwork:
    """A float network, as the file of its framework holds it.

    load() returns one; it pickles, and prints as a table of its operators.

    Attributes
    ----------
    graph : ir.float_graph.FloatGraph
        Operators in order, and their tensors under the names of the file.
    notes : tuple of str
        Sentences about the file, such as a preprocessing in its metadata.

    Raises
    ------
    Error
        The graph is not an ir.float_graph.FloatGraph.
    """

    graph: FloatGraph
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.graph, FloatGraph):
            raise Error(_no_graph("FloatNetwork", self.graph))

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """The inputs, in the order of the file."""
        return tuple(describe_float(self.graph, name) for name in self.graph.starts)

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The outputs, in the order of the file."""
        return tuple(describe_float(self.graph, name) for name in self.graph.outputs)

    @property
    def layers(self) -> tuple[LayerInfo, ...]:
        """The operators, in order."""
        return describe_operators(self.graph)

    def __repr__(self) -> str:
        return glance(self).text()

    def _repr_html_(self) -> str:
        return glance(self).html()

    def evaluate(self, x: np.ndarray, trace: bool = False) -> dict[str, np.ndarray]:
        """Compute the float network in numpy.

        Parameters
        ----------
        x : ndarray of floats, shape (N, *input shape)
            A batch, in the layout of the file.
        trace : bool, default False
            Return every tensor, not the outputs only.

        Returns
        -------
        dict of str to ndarray of float, shape (N, *tensor shape)
            Arrays by the tensor names of the file.

        Raises
        ------
        Error
            The batch has another shape, or contains NaN.
        """
        return evaluate(self.graph, x, trace)

    def predict(
        self, x: Any, layout: Optional[str] = None
    ) -> Union[np.ndarray, dict[str, np.ndarray]]:
        """Return float scores of float inputs as Network.predict(), by numpy's arithmetic.

        Parameters
        ----------
        x : array_like
            A sample or a batch of floats: an array, a torch tensor, lists, or what has
            `__array__` or DLPack.
        layout : {"NHWC", "NCHW"}, optional
            The layout of images, in x and in the result; default: what the shape of x tells, and
            in the result that of the file.

        Returns
        -------
        ndarray of float, shape (N, *output shape), or dict of str to ndarray
            The scores; of several outputs by the names of the file. Without the axis N where x is
            a single sample. The attribute `layout` of images tells their axes, such as "NCHW".

        Raises
        ------
        Error
            The numbers do not fit the network, or contain NaN.
        """
        return predict_float(self.graph, x, layout)

    def session(self, *_: object, **__: object) -> NoReturn:
        """Raise Error: only a quantized network runs on a device.

        Raises
        ------
        Error
            Always; the sentence says how to get a quantized network.
        """
        raise Error(f"{self.graph.name} is a float network; quantize it first to run it")

    def save(self, path: Union[str, Path]) -> None:
        """Write the network as one file that load() reads.

        Parameters
        ----------
        path : str or Path
            A file that ends in ".qnz"; it is written whole or not at all.

        Raises
        ------
        Error
            The path has another ending.
        ModelError
            The file cannot be written, or weights are not finite.
        """
        save_package(None, path, self.graph)


def glance(network: Union[Network, FloatNetwork]) -> Glance:
    """Return what a network is, in a few lines and as a table."""
    from ..analysis.repr_summary import summarize_calls, summarize_operators

    if isinstance(network, FloatNetwork):
        return summarize_operators(network.graph)
    steps = "" if network.preprocessing is None else network.preprocessing.spelled
    return summarize_calls(network.graph, network.reference is not None, len(network.notes), steps)


def load(
    source: Any,
    *,
    input: Optional[str] = None,
    output: Optional[str] = None,
    weights: Union[str, Path, None] = None,
    method: Optional[str] = None,
    signature: Optional[str] = None,
    model: Optional[str] = None,
    target: Optional[str] = None,
    include: Sequence[Union[str, Path]] = (),
    defines: Optional[Mapping[str, object]] = None,
    inputs: Union[str, Mapping[str, Optional[Sequence[int]]], None] = None,
    function: Optional[str] = None,
    original: Union[str, Path, None] = None,
) -> Union[Network, FloatNetwork]:
    """Read a network from a file.

    Quantized networks: .qnz, .tflite, .pte (programs of ExecuTorch's cortex_m backend), .espdl (of
    ESP-DL), .onnx with quantized tensors, firmware in C and C++ (.c, .cpp, .cc, .cxx, .ino) that
    calls CMSIS-NN, and network.json (or its folder), which describes firmware.
    Float networks: .onnx, .h5, .hdf5, .keras, .pb, folders of a SavedModel, .pt2, .tflite of
    floats, and .prototxt with `weights` next to it.

    Parameters
    ----------
    source : str or Path, bytes, onnx.ModelProto, keras.Model or torch.export.ExportedProgram
        The file, its content, or a model of a framework.
    input, output : str, optional
        Tensors of a float file between which the network is cut out; default: its own ends.
    weights : str or Path, optional
        The .caffemodel of a .prototxt.
    method : str, optional
        The method of a .pte file; default: "forward".
    signature : str, optional
        The signature of a .tflite file or a SavedModel; default: the first graph of the file, which
        TensorFlow Lite Micro runs, and "serving_default" or the only one of a SavedModel.
    model : str, optional
        The name of a model in a pack of .espdl files; default: the only one.
    target : str, optional
        The chip that an .espdl file was exported for, such as "esp32s3" or "c" (generic C), where
        neither the file nor the labels of its weights tell.
    include : sequence of str or Path, optional
        Of firmware: folders of its headers, and of further sources with its functions and arrays.
    defines : mapping, optional
        Of firmware: macros of its build, {"NAME": value}.
    inputs : str or mapping, optional
        Of firmware: the buffer or argument of the input, or {name: shape}; default: what the first
        layer reads.
    function : str, optional
        Of firmware: the function that runs the network, such as "CNN::run_nn"; default: the one
        that calls all others with layers.
    original : str or Path, optional
        Of a file with command streams of an Ethos-U: the .tflite file that the compiler read. Then
        operations of the NPU have the names of its operators. vela's record next to the file
        (NAME_debug.xml) says which these are; without it, those with equal bytes. Or the .tosa
        file, with the record.

    Returns
    -------
    Network or FloatNetwork
        What the file holds.

    Raises
    ------
    ModelError
        The file is missing, damaged, of an unknown format, or has an operator that this version
        does not read; the sentence names it.
    Error
        An argument has another type or is not for this format, or an optional package is missing.

    Examples
    --------
    >>> network = load("net.tflite")
    >>> network = load("net.prototxt", weights="net.caffemodel")
    >>> network = load(onnx.load("net.onnx"))
    >>> network = load("firmware/nn.cpp", include=["firmware/inc"], defines={"USE_X4": 1})
    """
    as_text(input, "input")
    as_text(output, "output")
    as_text(method, "method")
    as_text(signature, "signature")
    beside = None if weights is None else as_path(weights, "weights")
    options = {"input": input, "output": output, "weights": beside, "method": method}
    options["signature"] = signature
    options.update(model=as_text(model, "model"), target=as_text(target, "target"))
    options.update(_as_firmware(include, defines, inputs, function))
    if is_model(source):
        with written(source) as file:
            return _attach(_read(file, options), None, original)
    path = as_path(source, "a model")
    if path.is_dir():
        folder = path
        path = next((folder / name for name in _IN_FOLDERS if (folder / name).exists()), folder)
        if path == folder:
            names = sorted(e.name for e in folder.iterdir() if e.suffix.lower() in _MODELS)
            some = f", such as {', '.join(names[:_NAMED])}" if names else ""
            raise ModelError(
                f"{folder} is a folder without {' or '.join(_IN_FOLDERS)}: name a file in it{some}"
            )
    if not path.exists():
        raise ModelError(f"there is no file {path}")
    announce(f"reads {path.name}")
    return _attach(_read(path, options), path, original)


def _attach(
    network: Union[Network, FloatNetwork], compiled: Optional[Path], original: object
) -> Union[Network, FloatNetwork]:
    """Return a compiled network with its original, if there is one."""
    if original is None:
        return network
    path = as_path(original, "original")
    if isinstance(network, FloatNetwork):
        raise Error(f"{network.graph.name} is a float network: leave out original=")
    if not path.is_file():
        raise ModelError(f"there is no file {path}")
    return attach_original(network, path, compiled)


def attach_original(
    network: Network,
    path: Path,
    compiled: Optional[Path] = None,
    reasons: Mapping[str, tuple[str, str]] = {},
) -> Network:
    """Return a compiled network with its original; arguments as keep_original() takes them."""
    from .original import keep_original

    graph, found = keep_original(network.graph, path, compiled, reasons)
    return replace(network, graph=graph, original=found)


def _as_firmware(
    include: object, defines: object, inputs: object, function: Optional[str]
) -> dict[str, Any]:
    """Return the options of firmware, None for those that are not given."""
    as_text(function, "function")
    if isinstance(include, (str, os.PathLike)):
        include = [include]
    if not isinstance(include, (list, tuple)):
        raise Error(f"include must be a list of folders, not {format_value(include)}")
    folders = [as_path(folder, "include") for folder in include]
    if defines is not None and not isinstance(defines, Mapping):
        raise Error(f"defines must be {{name: value}}, not {format_value(defines)}")
    return {
        "include": folders or None,
        "defines": defines or None,
        "inputs": inputs,
        "function": function,
    }


def _read(path: Path, options: Mapping[str, Any]) -> Union[Network, FloatNetwork]:
    """Return the network of a file that exists."""
    found = read_model(path, _READERS, **options)
    if found.graph is None:
        assert found.reference is not None  # a file holds one of them
        return FloatNetwork(found.reference, found.notes)
    made = Network(found.graph, found.reference, found.notes, found.preprocessing)
    return replace(
        made,
        before=found.before,
        after=found.after,
        tflm_figures=found.tflm_figures,
        calibration=found.calibration,
        original=found.original,
        curve=None if found.curve is None else _make_curve(*found.curve),
    )


def _make_curve(columns: tuple[str, ...], rows: tuple[Any, ...]) -> Table:
    """Return the table of a curve; an import on first use, because most files have none."""
    from ..analysis.table import Table

    return Table(columns, rows)


def load_quantized(path: Union[str, Path], original: Union[str, Path, None] = None) -> Network:
    """Read a quantized network from a file.

    Parameters
    ----------
    path : str or Path
        A file as load() reads it.
    original : str or Path, optional
        As load() takes it.

    Returns
    -------
    Network
        What the file holds.

    Raises
    ------
    ModelError
        load() cannot read the file.
    Error
        The file holds a float network.
    """
    path = as_path(path, "a model")
    return quantized(path if original is None else load(path, original=original))


def quantized(network: Any) -> Network:
    """Return a quantized network that a caller gives, as such or as a file; Error for anything
    else.
    """
    found = known(network)
    if not isinstance(found, Network):
        raise Error(
            f"{_name(network)} is a float network; quantize it first, with calibration data"
        )
    return found


def unquantized(network: Union[FloatNetwork, str, Path]) -> FloatNetwork:
    """Return a float network that a caller gives, as such or as a file; Error for anything else."""
    found = known(network)
    if not isinstance(found, FloatNetwork):
        raise Error(f"{_name(network)} is quantized already; give the float network instead")
    return found


def known(network: object) -> Union[Network, FloatNetwork]:
    """Return a network of any kind that a caller gives, as such or as a file; Error for anything
    else.
    """
    if isinstance(network, (Network, FloatNetwork)):
        return network
    if isinstance(network, (str, os.PathLike)) or is_model(network):
        return load(network)
    raise Error(
        f"the network is {format_value(network)}, but must be the result of load() or a path"
    )


def _name(network: object) -> str:
    return network.graph.name if isinstance(network, (Network, FloatNetwork)) else str(network)


def _no_graph(noun: str, given: object) -> str:
    return f"{noun}() takes a graph, not {format_value(given)}; load() reads files"
