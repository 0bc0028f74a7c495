"""Sample files inside the packages, as the packages read them; those that a package refuses have to be refused."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import nptdms
import numpy as np
import obspy
import pyarrow.parquet
import scipy.io
import scipy.io.wavfile
import soundfile

from case import EQUAL, Case
from instruments import of_stream


def files(package: str, pattern: str) -> Iterator[tuple[str, Path]]:
    """Files of an installed package, with the name of their case."""
    origin = importlib.util.find_spec(package).origin
    for path in sorted(Path(origin).parent.rglob(pattern)):
        yield f"{package}/{path.name}", path


def cases(package: str, pattern: str, read: Callable[[Path], Any], tolerance: float = EQUAL) -> Iterator[Case]:
    """A case for each file of a package."""
    for name, path in files(package, pattern):
        try:
            expected = read(path)
        except Exception:
            # Of any message.
            expected = ""
        yield Case(name, path, expected, tolerance)


def of_packages(_folder: Path) -> Iterator[Case]:
    """Files of every package that has some."""
    yield from cases("scipy", "*.wav", wav)
    yield from cases("scipy", "*.mat", matlab)
    yield from cases("mne", "*.mat", matlab)
    for package in ("numpy", "scipy", "obspy", "matplotlib"):
        yield from cases(package, "*.npy", numpy_array)
    yield from cases("obspy", "*.mseed", miniseed)
    yield from cases("obspy", "*.wav", wav)
    yield from cases("nptdms", "*.tdms", tdms)
    yield from cases("h5py", "*.h5", hdf5)
    yield from cases("pyarrow", "*.parquet", parquet)


def wav(path: Path) -> np.ndarray:
    """Samples within [-1, 1), as SciPy reads them, or soundfile what SciPy refuses."""
    try:
        _, read = scipy.io.wavfile.read(path)
    except ValueError:
        return soundfile.read(path)[0]
    if read.dtype.kind == "f":
        return read
    full = 2.0 ** (8 * read.itemsize - 1)
    return (read.astype(np.float64) - (full if read.dtype.kind == "u" else 0)) / full


def chosen(arrays: dict[str, Any], none: str) -> Any:
    """The arrays that are read as channels: those of numbers of one or two dimensions, of which the longer is time, and
    of these the longest. Without one, the message."""
    numbers = [np.asarray(array) for array in arrays.values()]
    numbers = [array for array in numbers if array.dtype.kind in "biufc" and array.ndim in (1, 2) and array.size]
    length = max((max(array.shape) for array in numbers), default=0)
    longest = [array.reshape(len(array), -1) for array in numbers if max(array.shape) == length]
    return np.hstack([a if len(a) >= a.shape[1] else a.T for a in longest]) if length > 1 else none


def matlab(path: Path) -> Any:
    """Arrays of a file, but texts and sparse ones."""
    classes = {name: kind for name, _, kind in scipy.io.whosmat(path)}
    arrays = {name: array for name, array in scipy.io.loadmat(path).items() if name[:2] != "__"}
    numbers = {name: array for name, array in arrays.items() if classes[name] not in ("sparse", "char")}
    return chosen(numbers, "it has no array of numbers")


def hdf5(path: Path) -> Any:
    """Data sets of a file."""
    arrays: dict[str, Any] = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, found: arrays.update({name: found[()]} if isinstance(found, h5py.Dataset) else {}))
    return chosen(arrays, "it has no data set of numbers")


def numpy_array(path: Path) -> Any:
    """An array of one or two dimensions."""
    return chosen({"": np.load(path)}, "")


def miniseed(path: Path) -> Any:
    """Traces of a file; of text there are no samples."""
    stream = [part for part in obspy.read(path, format="MSEED") if part.data.dtype.kind in "if" and part.stats.npts]
    return of_stream(stream) if stream else ""


def tdms(path: Path) -> Any:
    """Channels of a file, scaled."""
    channels = [channel for group in nptdms.TdmsFile.read(path).groups() for channel in group.channels()]
    return chosen({channel.path: channel[:] for channel in channels}, "it has no channel of numbers")


def parquet(path: Path) -> Any:
    """Columns of numbers of a table, but pandas' index."""
    table = pyarrow.parquet.read_table(path)
    is_number = {
        field.name: pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type)
        for field in table.schema
        if not field.name.startswith("__index_level_")
    }
    return np.stack([np.asarray(table[name].to_numpy(), np.float64) for name, holds in is_number.items() if holds], 1)
