"""CUDA's functions of numbers, `libdevice`, which the compiler of kernels needs."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from glob import glob
from typing import Iterator


def find_libdevice() -> None:
    """Names a folder with the functions for the compiler, where there is no toolkit: Triton and NVIDIA's wheels have
    them."""
    roots = [os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr"]
    if any(root and os.path.isdir(os.path.join(root, "nvvm/libdevice")) for root in roots):
        return
    source = next(_files(), None)
    if source is not None:
        root = tempfile.mkdtemp(prefix="firefly-cuda-")
        os.makedirs(os.path.join(root, "nvvm/libdevice"))
        os.symlink(source, os.path.join(root, "nvvm/libdevice/libdevice.10.bc"))
        os.environ["CUDA_PATH"] = root


def _files() -> Iterator[str]:
    for package, place in (("triton", "backends/nvidia/lib"), ("nvidia", "*/nvvm/libdevice")):
        found = importlib.util.find_spec(package)
        for folder in (found and found.submodule_search_locations) or ():
            yield from glob(os.path.join(folder, place, "libdevice.10.bc"))
