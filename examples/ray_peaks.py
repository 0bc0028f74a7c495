"""Peaks of a folder of recordings on Ray: workers load the model once, and write a Parquet file per recording.

    python ray_peaks.py FOLDER OUT --workers 2
    python ray_peaks.py FOLDER OUT --scheduler ray://host:10001

Needs ``firefly_fft``, ``ray[data]``, ``pyarrow`` and ``scipy``. Workers that die are started again, and their files
with them; a run that was killed is started again with the same command. On a cluster, both folders have to be on a
shared file system; ``peaks_of_files.py`` is sent to the workers.
"""

from __future__ import annotations

import time

import peaks_of_files
import ray
from peaks_of_files import PeaksOfFiles, arguments, begin, model_arguments, remove_temporaries


def main() -> None:
    """Computes the parts that are missing."""
    given = arguments(__doc__ or "")
    files = begin(given)
    if not files:
        print(f"{given.out} is complete")
        return
    if given.scheduler:
        ray.init(given.scheduler, runtime_env={"py_modules": [peaks_of_files.__file__]})
    else:
        ray.init(num_cpus=given.workers * given.threads, include_dashboard=False)
    start = time.perf_counter()
    # One file per task, so that workers that are done take the next one. With two waiting for each worker, which is the
    # default, workers wait for the scheduler.
    tasks = ray.data.from_items([{"file": file} for file in files], override_num_blocks=len(files))
    parts = tasks.map_batches(
        PeaksOfFiles,
        fn_constructor_kwargs=model_arguments(given),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=given.workers, max_tasks_in_flight_per_actor=4),
        num_cpus=given.threads,
    )
    # `parts.sum` would start workers of its own.
    frames = sum(int(row["frames"]) for row in parts.iter_rows())
    remove_temporaries(given.out)
    print(f"{frames} frames of {len(files)} files in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
