"""Files of each format's writers and sample files of their packages, as Firefly and as the formats' readers read them.

`FIREFLY_PROGRAMS` is the folder of `firefly` and `examples/samples`; arguments choose among the names of GROUPS.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import arrays
import audio
import instruments
import iq
import packages
import tables
from expected import FAULTS, LOSSES, REFUSED

# Groups of cases: generators that write files into a folder.
GROUPS = {
    "soundfile": audio.of_soundfile,
    "scipy-wav": audio.of_scipy,
    "ffmpeg": audio.of_ffmpeg,
    "numpy": arrays.of_numpy,
    "matlab": arrays.of_matlab,
    "hdf5": arrays.of_hdf5,
    "safetensors": arrays.of_safetensors,
    "parquet": tables.of_parquet,
    "arrow": tables.of_arrow,
    "csv": tables.of_csv,
    "tdms": instruments.of_nptdms,
    "miniseed": instruments.of_obspy,
    "sigmf": instruments.of_sigmf,
    "edf": instruments.of_edfio,
    "mne": instruments.of_mne,
    "brainvision": instruments.of_pybv,
    "wfdb": instruments.of_wfdb,
    "iq": iq.of_firefly,
    "packages": packages.of_packages,
}


def main(chosen: list[str]) -> int:
    """Number of cases that fail, plus the names of expected failures that no case has."""
    warnings.simplefilter("ignore")
    passed, failed, names = 0, [], set()
    with tempfile.TemporaryDirectory() as folder:
        for group in chosen or GROUPS:
            home = Path(folder, group)
            home.mkdir()
            before = passed, len(failed)
            try:
                for case in GROUPS[group](home):
                    names.add(case.name)
                    if case.name in REFUSED:
                        case.expected = REFUSED[case.name]
                    if case.name in LOSSES:
                        case.loss = LOSSES[case.name]
                    fault = case.fault
                    if case.name in FAULTS:
                        fault = "" if fault else f"it is read right: take it off FAULTS ({FAULTS[case.name]})"
                    passed += not fault
                    if fault:
                        failed.append(f"{case.name}: {fault}")
            except Exception:
                failed.append(f"{group}: {traceback.format_exc()}")
            print(f"{group}: {passed - before[0]} passed, {len(failed) - before[1]} failed", flush=True)
    if not chosen:
        failed += [f"{name}: no case has this name" for name in [*REFUSED, *LOSSES, *FAULTS] if name not in names]
    print("\n".join(failed))
    print(f"{passed} passed, {len(failed)} failed")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
