"""Peaks of a folder of WAV files by SciPy, as Parquet: what `firefly peaks` is compared with.

    python3 peaks_scipy.py FOLDER OUT.parquet frames|files

n_fft 256, hop 128, eight segments per frame, Hann window, density scaling, 16 peaks; in double precision. `frames` calls
`scipy.signal.welch` for each frame, `files` for all frames of a file at once. Needs numpy, scipy and pyarrow.
"""

import os
import sys
import time

start = time.perf_counter()
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.io import wavfile
from scipy.signal import welch

N, HOP, SEGMENTS, K = 256, 128, 8, 16
FRAME = N + (SEGMENTS - 1) * HOP


def peaks(path, name, calls):
    rate, samples = wavfile.read(path)
    count = len(samples) // FRAME
    frames = samples[: count * FRAME].astype(np.float64).reshape(count, FRAME)
    options = dict(fs=rate, window="hann", nperseg=N, noverlap=N - HOP, detrend=False, scaling="density")
    if calls == "frames":
        power = np.stack([welch(frame, **options)[1] for frame in frames])
    else:
        power = welch(frames, axis=-1, **options)[1]
    # A stable sort: ties go to the lower bin.
    bins = np.argsort(-power, axis=1, kind="stable")[:, :K]
    power = np.take_along_axis(power, bins, axis=1).ravel()
    frame = np.repeat(np.arange(count), K)
    return pa.table({
        "file": np.full(count * K, name),
        "channel": np.zeros(count * K, np.int32),
        "frame": frame,
        "time_s": frame * FRAME / rate,
        "rank": np.tile(np.arange(1, K + 1, dtype=np.int32), count),
        "bin": bins.ravel().astype(np.int32),
        "frequency_hz": bins.ravel() * rate / N,
        "power": power.astype(np.float32),
        "power_db": 10 * np.log10(power),
    })


imported = time.perf_counter()
folder, out, calls = sys.argv[1:]
paths = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".wav"))
tables = [peaks(path, os.path.relpath(path, folder), calls) for path in paths]
pq.write_table(pa.concat_tables(tables), out)
end = time.perf_counter()
print(f"{imported - start:.3f} s to import, {end - imported:.3f} s from disk to Parquet")
