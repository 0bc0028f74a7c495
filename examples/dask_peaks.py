"""Peaks of a folder of recordings on Dask: workers load the model once, and write a Parquet file per recording.

    python dask_peaks.py FOLDER OUT --workers 2
    python dask_peaks.py FOLDER OUT --scheduler tcp://host:8786

Needs ``firefly_fft``, ``dask[distributed]``, ``pyarrow`` and ``scipy``. Files of workers that die are computed by
others; a run that was killed is started again with the same command. On a cluster, both folders have to be on a shared
file system; ``peaks_of_files.py`` is sent to the workers.
"""

from __future__ import annotations

import json
import time
from functools import lru_cache
from pathlib import Path

import peaks_of_files
from dask.distributed import Client, LocalCluster, as_completed
from peaks_of_files import PeaksOfFiles, arguments, begin, model_arguments, remove_temporaries

# Times that a file is computed again after its worker has died.
RETRIES = 3


@lru_cache(maxsize=1)
def worker(kwargs: str) -> PeaksOfFiles:
    """The model of this process, loaded at the first call."""
    return PeaksOfFiles(**json.loads(kwargs))


def write_part(file: str, kwargs: str) -> int:
    """Writes the part of a file, and returns the number of its frames."""
    return worker(kwargs).write_part(file)


def main() -> None:
    """Computes the parts that are missing."""
    given = arguments(__doc__ or "")
    files = begin(given)
    if not files:
        print(f"{given.out} is complete")
        return
    cluster = given.scheduler or LocalCluster(n_workers=given.workers, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        client.upload_file(str(Path(peaks_of_files.__file__)))
        start = time.perf_counter()
        parts = client.map(write_part, files, kwargs=json.dumps(model_arguments(given)), retries=RETRIES, pure=False)
        frames = sum(result for _, result in as_completed(parts, with_results=True))
        remove_temporaries(given.out)
        print(f"{frames} frames of {len(files)} files in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
