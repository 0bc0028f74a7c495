"""Arrays: files of NumPy, SciPy (MATLAB), h5py and safetensors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import safetensors.numpy
import scipy.io

from case import INTEGERS, IQ, RATE, SIGNAL, Case

REAL = "i1 u1 <i2 >i2 <u2 >u2 <i4 >i4 <u4 >u4 <i8 >i8 <u8 >u8 <f2 >f2 <f4 >f4 <f8 >f8".split()
COMPLEX = "<c8 >c8 <c16 >c16".split()
# Options of a data set of h5py.
HDF5 = {
    "contiguous": {},
    "chunks": {"chunks": (256, 2)},
    "chunks of a column": {"chunks": (1000, 1)},
    "gzip": {"chunks": (256, 2), "compression": "gzip"},
    "gzip and shuffle": {"chunks": (256, 2), "compression": "gzip", "shuffle": True},
    "lzf": {"chunks": (256, 2), "compression": "lzf"},
    "fletcher32": {"chunks": (256, 2), "fletcher32": True},
    "scale-offset": {"chunks": (256, 2), "scaleoffset": 6},
    "unlimited": {"chunks": (64, 2), "maxshape": (None, 2)},
    "unlimited in both": {"chunks": (64, 2), "maxshape": (None, None)},
}


def of_type(kind: str) -> np.ndarray:
    """The signal, or a complex channel, in numbers of a type."""
    if "c" in kind:
        return IQ.astype(kind)
    return (100 * SIGNAL + (100 if "u" in kind else 0)).astype(kind)


def of_numpy(folder: Path) -> Iterator[Case]:
    """Every type and order of NumPy's arrays, and types that are no samples."""
    arrays: dict[str, Any] = {kind: of_type(kind) for kind in [*REAL, *COMPLEX]}
    arrays |= {
        "Fortran order": np.asfortranarray(SIGNAL),
        "time as the second dimension": np.ascontiguousarray(SIGNAL.T),
        "one dimension": SIGNAL[:, 0],
        "complex, two channels": np.stack([IQ, IQ[::-1]], 1),
        "long double": SIGNAL.astype("g"),
        "complex long double": IQ.astype("G"),
        "flags": SIGNAL > 0,
        "three dimensions": np.zeros((4, 4, 4)),
        "fields": np.zeros(8, [("a", "f4"), ("b", "f4")]),
        "objects": np.array([1.0, "a"], object),
    }
    for name, array in arrays.items():
        path = folder / f"{name}.npy"
        np.save(path, array)
        expected = np.load(path, allow_pickle=True)
        yield Case(f"numpy {name}", path, expected.T if "second" in name else expected)
    for name, save in {"npz": np.savez, "compressed npz": np.savez_compressed}.items():
        for title, array in {"real": SIGNAL, "complex": IQ}.items():
            path = folder / f"{name} {title}.npz"
            save(path, samples=array, fs=RATE)
            yield Case(f"numpy {name}, {title}", path, np.load(path)["samples"], rate=RATE)


def of_matlab(folder: Path) -> Iterator[Case]:
    """Versions, types and shapes of SciPy's MATLAB files."""
    contents: dict[str, dict[str, Any]] = {kind: {"x": of_type(kind), "fs": RATE} for kind in REAL if "f2" not in kind}
    contents |= {
        "complex": {"x": IQ, "fs": RATE},
        "time as the second dimension": {"x": SIGNAL.T, "fs": RATE},
        "several arrays": {"x": SIGNAL[:, 0], "y": SIGNAL[:, 1], "note": "text", "short": np.arange(3.0), "fs": RATE},
        "struct": {"s": {"x": SIGNAL, "fs": RATE}},
        "three dimensions": {"x": np.zeros((4, 4, 4))},
        "cells": {"x": np.array([1.0, "a"], object)},
        "flags": {"x": SIGNAL > 0},
        "text": {"x": "text"},
    }
    kinds = [("4", False), ("5", False), ("5", True)]
    for version, is_compressed in kinds:
        for name, content in contents.items():
            if version == "4" and name in ("struct", "three dimensions", "cells", "flags", "text"):
                continue
            if version == "4" and name not in ("<f8", "<f4", "<i2", "<i4", "u1", "<u2", "complex", "several arrays"):
                continue
            path = folder / f"{version} {is_compressed} {name}.mat"
            scipy.io.savemat(path, content, format=version, do_compression=is_compressed, oned_as="column")
            read = scipy.io.loadmat(path)
            expected = np.hstack([read["x"], read["y"]]) if "y" in read else read.get("x")
            form = f"MATLAB {version}{', compressed' if is_compressed else ''}, {name}"
            rate = RATE if "fs" in content else None
            yield Case(form, path, expected.T if "second" in name else expected, rate=rate)


def of_hdf5(folder: Path) -> Iterator[Case]:
    """Layouts, filters and types of h5py's data sets."""
    for earliest in ("earliest", "latest"):
        for name, options in HDF5.items():
            path = folder / f"{earliest} {name}.h5"
            with h5py.File(path, "w", libver=earliest) as file:
                data = file.create_dataset("group/x", data=SIGNAL, **options)
                data.attrs["fs"], data.attrs["units"] = RATE, "mV"
            with h5py.File(path) as file:
                expected = file["group/x"][:]
            titles = ["group/x 0", "group/x 1"]
            yield Case(f"HDF5 {earliest}, {name}", path, expected, rate=RATE, titles=titles, units=["mV", "mV"])
    for kind in [*REAL, *COMPLEX, "one dimension", "time as the second dimension", "several sets", "text"]:
        path = folder / f"{kind}.h5"
        with h5py.File(path, "w") as file:
            if kind == "one dimension":
                file["x"] = SIGNAL[:, 0]
            elif kind == "time as the second dimension":
                file["x"] = SIGNAL.T
            elif kind == "several sets":
                file["x"], file["y"], file["short"] = SIGNAL[:, 0], INTEGERS[:, 1], np.arange(3)
            else:
                file["x"] = "text" if kind == "text" else of_type(kind)
        with h5py.File(path) as file:
            expected = np.stack([file["x"][:], file["y"][:]], 1) if "y" in file else file["x"][()]
        yield Case(f"HDF5 {kind}", path, expected.T if "second" in kind else expected)


def of_safetensors(folder: Path) -> Iterator[Case]:
    """Every type of numbers that NumPy and safetensors have."""
    for kind in [kind for kind in REAL if ">" not in kind]:
        path = folder / f"{kind}.safetensors"
        safetensors.numpy.save_file({"x": of_type(kind)}, path, {"sample_rate": str(RATE)})
        yield Case(f"safetensors {kind}", path, safetensors.numpy.load_file(path)["x"], rate=RATE)
