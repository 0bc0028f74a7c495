"""Instruments: files of nptdms, ObsPy (miniSEED), sigmf, edfio, MNE and pybv (EDF, BDF, BrainVision), and wfdb."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import edfio
import mne
import nptdms
import numpy as np
import obspy
import pybv
import sigmf
import wfdb

from arrays import of_type
from case import DOUBLE, INTEGERS, IQ, RATE, SIGNAL, SINGLE, Case

NAMES = ["A", "B"]


def of_nptdms(folder: Path) -> Iterator[Case]:
    """Types, segments and properties of nptdms' channels."""
    contents = {kind: [of_type(kind)] for kind in "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8".split()}
    contents["four segments"] = list(INTEGERS.reshape(4, -1, 2))
    contents["segments of other lengths"] = [SIGNAL[:100], SIGNAL[100:101], SIGNAL[101:]]
    for name, segments in contents.items():
        path = folder / f"{name}.tdms"
        properties = {"wf_increment": 1 / RATE, "unit_string": "g"}
        with nptdms.TdmsWriter(path) as file:
            for segment in segments:
                channels = zip(NAMES, segment.T, strict=True)
                file.write_segment([nptdms.ChannelObject("group", *channel, properties) for channel in channels])
        read = nptdms.TdmsFile.read(path)["group"].channels()
        expected = np.stack([channel[:] for channel in read], 1)
        yield Case(f"TDMS {name}", path, expected, rate=RATE, units=["g", "g"])
    path = folder / "text.tdms"
    with nptdms.TdmsWriter(path) as file:
        file.write_segment([nptdms.ChannelObject("group", "A", ["x", "y"])])
    yield Case("TDMS text", path, None)


def of_obspy(folder: Path) -> Iterator[Case]:
    """Encodings, byte orders and lengths of records of ObsPy's miniSEED, gaps and overlaps."""
    encodings = {"STEIM1": "i4", "STEIM2": "i4", "INT16": "i2", "INT32": "i4", "FLOAT32": "f4", "FLOAT64": "f8"}
    for encoding, kind in encodings.items():
        for order in "<>":
            for record in (256, 512, 4096):
                path = folder / f"{encoding} {'big' if order == '>' else 'little'} {record}.mseed"
                traces = [trace(column, name) for column, name in zip(of_type(kind).T, NAMES, strict=True)]
                obspy.Stream(traces).write(path, "MSEED", encoding=encoding, byteorder=order, reclen=record)
                yield Case(f"miniSEED {path.stem}", path, of_stream(obspy.read(path)), rate=RATE)
    column = of_type("i4")[:, 0]
    parts = {"gap": (column[:1000], column[1500:], 3.0), "overlap": (column[:1000], column[900:], 1.8)}
    for name, (before, after, seconds) in parts.items():
        path = folder / f"{name}.mseed"
        obspy.Stream([trace(before, "A"), trace(after, "A", seconds)]).write(path, "MSEED", encoding="STEIM2")
        yield Case(f"miniSEED {name}", path, of_stream(obspy.read(path)), rate=RATE)
    path = folder / "text.mseed"
    letters = np.frombuffer(b"text of a log", "S1")
    obspy.Stream([obspy.Trace(letters, {"channel": "LOG"})]).write(path, "MSEED", encoding="ASCII")
    yield Case("miniSEED text", path, None)


def trace(samples: np.ndarray, name: str, seconds: float = 0.0) -> obspy.Trace:
    """A trace of a station, so many seconds after its first one."""
    start = obspy.UTCDateTime(2024, 2, 29) + seconds
    header = {"network": "XX", "station": "STA", "channel": f"BH{name}", "sampling_rate": RATE, "starttime": start}
    return obspy.Trace(np.ascontiguousarray(samples), header)


def of_stream(stream: obspy.Stream) -> np.ndarray:
    """The traces of the highest rate on one axis of time from the first one on, NaN where a channel has no sample. Of
    samples of one time the earlier trace's counts."""
    rate = max(part.stats.sampling_rate for part in stream)
    parts = [part for part in stream if part.stats.sampling_rate == rate]
    names = list(dict.fromkeys(part.id for part in parts))
    first = min(part.stats.starttime for part in parts)
    places = [round((part.stats.starttime - first) * rate) for part in parts]
    length = max(place + part.stats.npts for place, part in zip(places, parts, strict=True))
    samples = np.full((length, len(names)), np.nan)
    for place, part in sorted(zip(places, parts, strict=True), key=lambda pair: -pair[0]):
        samples[place : place + part.stats.npts, names.index(part.id)] = part.data
    return samples


def of_sigmf(folder: Path) -> Iterator[Case]:
    """Every datatype of SigMF, recordings of several channels, and captures."""
    for kind in "f64 f32 i32 i16 i8 u32 u16 u8".split():
        for part in "cr":
            for order in [""] if kind[1:] == "8" else ["_le", "_be"]:
                datatype = f"{part}{kind}{order}"
                numbers = np.stack([IQ.real, IQ.imag], 1) if part == "c" else SIGNAL[:, 0]
                if kind[0] != "f":
                    full = 2.0 ** (int(kind[1:]) - 1)
                    numbers = np.round(full * numbers + (full if kind[0] == "u" else 0))
                stored = np.dtype(f"{'>' if order == '_be' else '<'}{kind[0]}{int(kind[1:]) // 8}")
                # The package computes in f32.
                expected, path = stored_sigmf(folder / datatype, numbers.astype(stored), datatype)
                yield Case(f"SigMF {datatype}", path, expected, SINGLE, rate=RATE)
    pairs = np.stack([IQ, IQ[::-1]], 1).astype("<c8")
    expected, path = stored_sigmf(folder / "two channels", pairs, "cf32_le", {"core:num_channels": 2})
    yield Case("SigMF two channels", path, expected, SINGLE, rate=RATE)
    captures = [(0, {"core:frequency": 1e6}), (1000, {"core:frequency": 1e6})]
    expected, path = stored_sigmf(folder / "captures", IQ.astype("<c8"), "cf32_le", captures=captures)
    yield Case("SigMF captures that follow each other", path, expected, SINGLE, rate=RATE)
    captures = [(0, {"core:global_index": 70}), (1000, {"core:global_index": 1370})]
    expected, path = stored_sigmf(folder / "gap", IQ.astype("<c8"), "cf32_le", captures=captures)
    expected = np.insert(expected, 1000, np.full(300, complex(np.nan, np.nan)))
    yield Case("SigMF captures with a gap", path, expected, SINGLE, rate=RATE)
    times = ["2024-02-29T23:59:59.500000Z", "2024-03-01T00:00:02.100000Z"]
    captures = [(start, {"core:datetime": time}) for start, time in zip((0, 1000), times, strict=True)]
    _, path = stored_sigmf(folder / "times", IQ.astype("<c8"), "cf32_le", captures=captures)
    yield Case("SigMF captures with a gap by their times", path, expected, SINGLE, rate=RATE)


def stored_sigmf(
    path: Path, numbers: np.ndarray, datatype: str, more: dict | None = None, captures: list | None = None
) -> tuple[np.ndarray, Path]:
    """Samples of a recording that the package has written, as it reads them, and the file of its description."""
    data, meta = path.with_name(path.name + ".sigmf-data"), path.with_name(path.name + ".sigmf-meta")
    numbers.tofile(data)
    facts = {"core:datatype": datatype, "core:sample_rate": RATE, "core:version": "1.0.0"} | (more or {})
    file = sigmf.SigMFFile(data_file=data, global_info=facts)
    for start, facts in captures or [(0, {"core:frequency": 1e6})]:
        file.add_capture(start, facts)
    file.tofile(meta, overwrite=True)
    return np.asarray(sigmf.sigmffile.fromfile(meta).read_samples()), meta


def of_edfio(folder: Path) -> Iterator[Case]:
    """EDF and BDF of edfio: physical ranges, rates, annotations and lengths of records."""
    samples = SIGNAL[:4000]
    for kind, signal, file, read in (
        ("edf", edfio.EdfSignal, edfio.Edf, edfio.read_edf),
        ("bdf", edfio.BdfSignal, edfio.Bdf, edfio.read_bdf),
    ):

        def made(column: np.ndarray, name: str, rate: float = RATE, signal=signal, **more) -> edfio.EdfSignal:
            return signal(column, rate, label=f"EEG {name}", physical_dimension="uV", **more)

        two = [made(samples[:, 0], "A"), made(samples[:, 1], "B")]
        far = [made(samples[:, 0] + 1000, "A", physical_range=(0, 4000)), made(samples[:, 1], "B")]
        slower = [*two, made(samples[:1000, 0], "C", RATE / 4)]
        notes = [edfio.EdfAnnotation(0.5, 1.0, "blink")]
        for name, content in {
            "two signals": file(two),
            "an offset": file(far),
            "a signal of a lower rate": file(slower),
            "annotations": file(two, annotations=notes),
            "records of 0.1 s": file(two, data_record_duration=0.1),
        }.items():
            path = folder / f"{name}.{kind}"
            content.write(path)
            expected = np.stack([found.data for found in read(path).signals[:2]], 1)
            titles, units = ["EEG A", "EEG B"], ["uV", "uV"]
            yield Case(f"edfio {kind}, {name}", path, expected, SINGLE, rate=RATE, titles=titles, units=units)


def of_mne(folder: Path) -> Iterator[Case]:
    """EDF, BDF and BrainVision of MNE, which reads volts where files have microvolts."""
    mne.set_log_level("ERROR")
    raw = mne.io.RawArray(1e-5 * SIGNAL[:4000].T, mne.create_info(NAMES, RATE, "eeg"))
    for kind, suffix, read in (
        ("edf", "edf", mne.io.read_raw_edf),
        ("bdf", "bdf", mne.io.read_raw_bdf),
        ("brainvision", "vhdr", mne.io.read_raw_brainvision),
    ):
        path = folder / f"x.{suffix}"
        mne.export.export_raw(path, raw, kind, overwrite=True)
        expected = 1e6 * read(path, preload=True).get_data().T
        yield Case(f"MNE {kind}", path, expected, SINGLE, rate=RATE, titles=NAMES)


def of_pybv(folder: Path) -> Iterator[Case]:
    """Number formats, units and resolutions of pybv's BrainVision."""
    for kind in ("binary_int16", "binary_float32"):
        for unit, scale in {"V": 1.0, "mV": 1e3, "µV": 1e6, "nV": 1e9}.items():
            for resolution in (0.1, 1.0):
                name = f"{kind} {unit} {resolution}"
                volts = 1000 * SIGNAL.T / scale
                options = {"resolution": resolution, "unit": unit, "fmt": kind}
                pybv.write_brainvision(
                    data=volts, sfreq=RATE, ch_names=NAMES, fname_base=name, folder_out=folder, **options
                )
                path = folder / f"{name}.vhdr"
                expected = scale * mne.io.read_raw_brainvision(path, preload=True).get_data().T
                yield Case(f"pybv {name}", path, expected, SINGLE, rate=RATE, titles=NAMES, units=[unit, unit])


def of_wfdb(folder: Path) -> Iterator[Case]:
    """Every format of signals that wfdb writes, and bytes of formats that it only reads."""
    options = {"fs": RATE, "units": ["mV", "V"], "sig_name": NAMES, "write_dir": str(folder)}
    for form in "16 24 32 80 508 516 524".split():
        wfdb.wrsamp(f"r{form}", p_signal=SIGNAL, fmt=[form, form], **options)
        yield of_record(folder / f"r{form}", f"WFDB {form}")
    data = np.random.default_rng(1).integers(0, 256, 12_000, np.uint8).tobytes()
    for form, bits in {"61": 16, "160": 16, "212": 12, "310": 32 / 3, "311": 32 / 3}.items():
        path = folder / f"r{form}"
        path.with_suffix(".dat").write_bytes(data)
        lines = [f"r{form}.dat {form} 200(3)/{unit} 12 0 0 0 0 {name}" for unit, name in (("mV", "A"), ("V", "B"))]
        lines = [f"r{form} 2 {RATE:g} {int(8 * len(data) / bits / 2)}", *lines]
        path.with_suffix(".hea").write_text("\n".join([*lines, ""]))
        yield of_record(path, f"WFDB {form}")
    missing = np.where(SIGNAL > 0.5, np.nan, SIGNAL)
    wfdb.wrsamp("missing", p_signal=missing, fmt=["16", "16"], **options)
    yield of_record(folder / "missing", "WFDB missing samples")
    gains = {"adc_gain": [400.0, 30.5], "baseline": [-5, 1000]}
    wfdb.wrsamp("gains", d_signal=INTEGERS.astype(np.int64) // 8, fmt=["16", "16"], **gains, **options)
    yield of_record(folder / "gains", "WFDB gains and baselines")


def of_record(path: Path, name: str) -> Case:
    """A record, as wfdb reads it."""
    expected = wfdb.rdrecord(str(path)).p_signal
    return Case(name, path.with_name(path.name + ".hea"), expected, DOUBLE, rate=RATE, titles=NAMES, units=["mV", "V"])
