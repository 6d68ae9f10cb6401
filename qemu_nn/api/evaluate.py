"""Evaluation of a network on data, next to its float reference and to other networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

import numpy as np

from ..analysis.evaluation import Evaluation, compute_part_figures, tabulate_classes
from ..analysis.figures import (
    choose_classes,
    classify,
    compare_outputs,
    measure_deviations,
    measure_reconstruction,
)
from ..analysis.task_type import convert_scores, convert_values, infer_kind
from ..errors import Error, LayerFault
from ..evaluation.block_reader import BlockSource, open_blocks, take_batch_rows, take_first
from ..evaluation.class_numbers import tell_names
from ..evaluation.scorers import DeviceScorer, FloatScorer, Samples, Scorer
from ..io.arguments import MOST_THREADS, as_callable, as_count, as_text, one_of
from ..io.stages import announce
from ..runtime.cluster import open_cluster, reduce_blocks
from ..runtime.samples import naming_samples
from ..targets import DEFAULT_CORE, Target
from .data import Batch, Dataset
from .eval_target import Given, Subject, subject_of

#: (What is known, of whom) -> a part of figures.py; parts of more samples are added.
Parts = dict[tuple[str, str], Any]

#: Samples that are computed at a time.
_PIECE = 64

#: Most classes of a confusion matrix, whose size is their square.
_CONFUSED = 1000


def evaluate(
    network: Given,
    data: Any,
    *,
    target: Union[str, Target] = DEFAULT_CORE,
    variant: Optional[str] = None,
    kind: Optional[str] = None,
    output: Optional[str] = None,
    top: Union[int, Sequence[int]] = (1, 5),
    profiles: Union[str, Sequence[Any]] = (),
    reference: Any = True,
    threads: int = 1,
    progress: Optional[Callable[[Iterable[Any]], Iterable[Any]]] = None,
    client: Any = None,
) -> Evaluation:
    """Measure accuracy and errors of a network on data, and its distance to the float network.

    The figures are counts and sums without rounding: they are the same to the last bit for any
    number of threads and workers, and in whatever order these are done.

    Parameters
    ----------
    network : Network, FloatNetwork, ndk.quant_tools.numpy_net.NumpyLayers, str or Path
        A quantized network, a float one, layers of the NPU, or a file that load() reads.
    data : Dataset or source
        Real inputs, as a Dataset or its source, or integers of a network without a float reference;
        of a recurrent network sequences (N, T, *input shape). Labels are classes (N,), of a
        recurrent network also (N, T); of a regressor values (N, *output shape); of an autoencoder 0
        for normal samples and 1 for others.
    target, variant
        As Network.session() takes them.
    kind : {"classifier", "regressor", "autoencoder", "unlabelled"}, optional
        What the outputs are taken for; default: as labels and shapes tell. A classifier of one
        output gives the probability of label 1.
    output : str, optional
        Which output, where the network has several.
    top : int or sequence of int, default (1, 5)
        Count labels among so many of the largest scores.
    profiles : str or sequence of str, Target or targets.Profile, default ()
        Other devices to compare with: targets, also as "m3,m55", profiles, or "all".
    reference : bool, FloatNetwork, NumpyLayers, str or Path, default True
        Compare with the network's float reference, with none (which is faster), or with this one.
        A .tflite file is compared with the floats that its weights stand for.
    threads : int, default 1
        Blocks of samples that are computed at a time.
    progress : callable, optional
        Wraps the iteration over blocks, as tqdm does.
    client : dask.distributed.Client, str or int, optional
        Compute on this cluster, on that of the scheduler at this address, or on so many processes
        of this machine, by dask.

    Returns
    -------
    Evaluation
        Figures by name, per class and per profile; it has text(), csv(), json(), to_dict() and
        to_pandas().

    Raises
    ------
    Error
        The data, the labels or an option do not fit the network, the device could not run it, or
        the cluster failed; of a sample that fails the sentence says which it is.

    Examples
    --------
    >>> print(evaluate("net.qnz", "test.npz", profiles="m3,m55").text())
    """
    progress, threads = (
        as_callable(progress, "progress"),
        as_count(threads, "threads", 1, MOST_THREADS),
    )
    tops = [as_count(k, "top") for k in (top if isinstance(top, (list, tuple)) else [top])]
    subject = subject_of(network, target, as_text(variant, "variant"), reference, profiles)
    source = subject.batches(Dataset.of(data), kind, output)
    first, rest = take_first(source)
    if isinstance(subject.scorer, DeviceScorer) and not subject.takes_codes(kind):
        subject.scorer.look(first.x)
    job = _job(subject, Batch(*take_batch_rows(first, slice(1))), kind, output, tops)
    with open_cluster(client) as found:
        reading, blocks, total = open_blocks(source, rest, subject.sample_bytes, found is not None)
        announce("runs samples")
        parts = reduce_blocks(
            _Blockwise(job, reading),
            blocks,
            _added,
            client=found,
            threads=threads,
            progress=progress,
            total=total,
        )
    if not parts:
        raise Error("the data have no samples: give one or more")
    return _evaluation(subject, job, parts, source.classes)


def _job(
    subject: Subject,
    first: Batch,
    kind: Optional[str],
    output: Optional[str],
    top: Sequence[int],
) -> _Job:
    """Return what is computed of every sample, as the first one tells."""
    scorers = [subject.scorer, *([subject.reference] if subject.reference else []), *subject.others]
    outputs = subject.scorer.outputs
    if output is None and len(outputs) > 1:
        raise Error(
            f"the network has the outputs {', '.join(outputs)}: name one of them by output="
        )
    name = outputs[0] if output is None else one_of(outputs, output, "output")
    columns = tuple((scorer, _same(scorer, name, outputs)) for scorer in scorers)
    one = () if isinstance(first.x, dict) else first.x.shape[1:]
    scores = subject.scorer.scores(first.x)[columns[0][1]]
    known = infer_kind(kind, one, scores.shape[1:], first.y, subject.recurrent)
    classes = 0
    if known == "classifier":
        classes = convert_scores(scores, first.y, subject.recurrent).shape[1]
    least = tuple(k for k in dict.fromkeys(top) if 1 < k < classes)
    return _Job(columns, known, subject.recurrent, subject.reference is not None, least)


def _same(scorer: Scorer, name: str, outputs: Sequence[str]) -> str:
    """Return the output of this name; of a network's own float form the one in its place."""
    if name in scorer.outputs:
        return name
    if isinstance(scorer, FloatScorer) and scorer.derived:
        return scorer.outputs[list(outputs).index(name)]
    raise Error(
        f"the reference has no output {name!r}; it has {', '.join(scorer.outputs)}: both "
        "networks need this output"
    )


@dataclass(frozen=True)
class _Job:
    """Plan of an evaluation.

    columns: who scores them, and which of its outputs counts: the network itself, the reference if
    there is one, and other profiles.
    """

    columns: tuple[tuple[Scorer, str], ...]
    kind: str
    recurrent: bool
    referred: bool
    top: tuple[int, ...]

    def parts(self, x: Samples, y: Optional[np.ndarray]) -> Parts:
        """Return the figures of samples; "right": against labels, "like": another network."""
        whose = self.names()
        outputs = [scorer.scores(x)[name] for scorer, name in self.columns]
        shape = outputs[0].shape
        outputs = [each.reshape(shape) for each in outputs]
        choices: list[Any] = [None for _ in outputs]
        parts: Parts = {}
        if self.kind == "classifier":
            scores = [convert_scores(each, y, self.recurrent) for each in outputs]
            choices = [choose_classes(each) for each in scores]
            if y is not None:
                right = self._classes(y)
                parts = {("right", w): classify(s, right, self.top) for w, s in zip(whose, scores)}
        elif self.kind == "regressor" and y is not None:
            values = convert_values(y, shape[1:])
            parts = {("right", w): measure_deviations(o, values) for w, o in zip(whose, outputs)}
        elif self.kind == "autoencoder" and isinstance(x, np.ndarray):
            parts = {("right", w): measure_reconstruction(o, x, y) for w, o in zip(whose, outputs)}
        base = 1 if self.referred else 0
        for number, name in enumerate(whose):
            if number:
                both = (0, base) if name == "float" and self.referred else (number, 0)
                pair = None if choices[0] is None else tuple(choices[i] for i in both)
                parts["like", name] = compare_outputs(outputs[both[0]], outputs[both[1]], pair)
        return {("samples", ""): shape[0], **parts}

    def names(self) -> list[str]:
        """Return whose the columns are: "", "float", and profiles."""
        words = ["", *(["float"] if self.referred else [])]
        return [*words, *(str(scorer) for scorer, _ in self.columns[len(words) :])]

    def _classes(self, y: np.ndarray) -> np.ndarray:
        labels = y.ravel()
        if labels.dtype.kind == "b":
            labels = labels.astype(np.uint8)
        return labels


@dataclass(frozen=True)
class _Blockwise:
    """The parts of a block, which is read where it is computed if it can be."""

    job: _Job
    source: BlockSource

    def __call__(self, block: Any) -> Parts:
        batch, names = self.source.read(block)
        parts: Parts = {}
        for start in range(0, len(batch), _PIECE):
            part = slice(start, start + _PIECE)
            try:
                with naming_samples(names, start):
                    more = self.job.parts(*take_batch_rows(batch, part))
            except LayerFault:
                raise
            except Error as error:
                raise self._blamed(batch, part, names, error) from None
            parts = _added(parts, more) if parts else more
        return parts

    def _blamed(
        self, batch: Batch, part: slice, names: Callable[[int], str], error: Error
    ) -> Error:
        """Return the error, and the first sample that has it alone."""
        for row in range(len(batch))[part]:
            try:
                self.job.parts(*take_batch_rows(batch, slice(row, row + 1)))
            except Error as own:
                return type(own)(f"{names(row)}: {own}")
        return error


def _added(parts: Parts, more: Parts) -> Parts:
    """Return the parts of neighbouring samples together."""
    if parts.keys() != more.keys():
        raise Error("some of the data have labels and others none: give labels for all or for none")
    return {key: parts[key] + more[key] for key in parts}


def _evaluation(subject: Subject, job: _Job, parts: Parts, names: Sequence[str]) -> Evaluation:
    """Return all figures."""
    own = parts.get(("right", ""))
    figures = {} if own is None else compute_part_figures(own, job.top)
    if ("right", "float") in parts:
        real = compute_part_figures(parts["right", "float"], job.top)
        figures.update({f"float_{name}": value for name, value in real.items()})
    if ("like", "float") in parts:
        figures.update(compute_part_figures(parts["like", "float"]))
    profiles = []
    for name in job.names()[1 + job.referred :]:
        like = parts["like", name]
        right = parts.get(("right", name))
        profiles.append(
            (
                name,
                {
                    "identical": like.identical / like.samples,
                    **compute_part_figures(like),
                    **({} if right is None else compute_part_figures(right, job.top)),
                },
            )
        )
    chosen = own if job.kind == "classifier" else None
    small = chosen is not None and chosen.classes <= _CONFUSED
    return Evaluation(
        subject.name,
        str(subject.scorer),
        job.kind,
        parts["samples", ""],
        figures,
        () if chosen is None else tabulate_classes(chosen, subject.classes or names),
        chosen.confusion() if chosen is not None and small else None,
        tuple(profiles),
        own.errors if job.kind == "autoencoder" and own is not None else None,
        (tell_names(names),) if names else (),
    )
