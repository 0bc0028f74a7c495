"""Tables: files of PyArrow, Polars, pandas and NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from arrays import of_type
from case import INTEGERS, RATE, SIGNAL, Case

TYPES = "i1 u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8".split()
THOUSANDTHS = [Decimal(int(value)).scaleb(-3) for value in np.round(1000 * SIGNAL[:, 0])]
MICROSECONDS = 2000 * np.arange(len(SIGNAL))
# Rows that a table lacks, and its samples.
GAP = slice(1500, 1800)
WITH_GAP = np.where((np.arange(len(SIGNAL)) // 300 == 5)[:, None], np.nan, SIGNAL)


def table(samples: np.ndarray) -> pyarrow.Table:
    """A table with the columns a and b."""
    return pyarrow.table({"a": samples[:, 0], "b": samples[:, 1]})


def values(read: pyarrow.Table, names: tuple[str, ...] = ("a", "b")) -> np.ndarray:
    """The columns that are channels, as PyArrow reads them."""
    columns = [read[name].cast(pyarrow.float64()) if read[name].null_count else read[name] for name in names]
    return np.stack([np.asarray(column.to_numpy(), np.float64) for column in columns], 1)


def tables() -> dict[str, tuple[pyarrow.Table, tuple[str, ...], float | None]]:
    """Tables of every type of numbers, of times and of other columns: their channels and their rate."""
    found = {kind: (table(of_type(kind)), ("a", "b"), None) for kind in TYPES}
    a, nulls = pyarrow.array(SIGNAL[:, 0]), pyarrow.array(SIGNAL[:, 0], mask=SIGNAL[:, 0] > 0.5)
    for kind in (pyarrow.decimal128(9, 3), pyarrow.decimal128(38, 3), pyarrow.decimal256(40, 3)):
        found[str(kind)] = (pyarrow.table({"a": pyarrow.array(THOUSANDTHS, kind)}), ("a",), None)
    for unit, step in {"s": 1, "ms": 2, "us": 2000, "ns": 2_000_000}.items():
        times = pyarrow.array(step * np.arange(len(SIGNAL)), pyarrow.timestamp(unit))
        found[f"timestamp[{unit}]"] = (pyarrow.table({"t": times, "a": a}), ("a",), 1.0 if unit == "s" else RATE)
    found["duration"] = (
        pyarrow.table({"t": pyarrow.array(MICROSECONDS, pyarrow.duration("us")), "a": a}),
        ("a",),
        RATE,
    )
    found["time64"] = (pyarrow.table({"t": pyarrow.array(MICROSECONDS, pyarrow.time64("us")), "a": a}), ("a",), RATE)
    found["seconds"] = (pyarrow.table({"time": np.arange(len(SIGNAL)) / RATE, "a": a}), ("a",), RATE)
    found["nulls"] = (pyarrow.table({"a": nulls}), ("a",), None)
    words, flags = pyarrow.array(["x", "y"] * (len(SIGNAL) // 2)), pyarrow.array(SIGNAL[:, 0] > 0)
    found["texts and flags"] = (pyarrow.table({"w": words, "a": a, "f": flags}), ("a",), None)
    found["texts alone"] = (pyarrow.table({"w": words}), (), None)
    found["dictionary of numbers"] = (pyarrow.table({"a": a.dictionary_encode()}), ("a",), None)
    return found


def of_parquet(folder: Path) -> Iterator[Case]:
    """Types, codecs, encodings and versions of PyArrow's Parquet files, and those of Polars and pandas."""
    write, read = pyarrow.parquet.write_table, pyarrow.parquet.read_table
    for name, (content, channels, rate) in tables().items():
        path = folder / f"{name}.parquet"
        write(content, path)
        expected = values(read(path), channels) if channels else None
        yield Case(f"parquet {name}", path, expected, rate=rate, titles=list(channels))
    forms = {f"codec {codec}": {"compression": codec} for codec in "none snappy gzip zstd lz4 brotli".split()}
    forms |= {f"version {version}": {"version": version} for version in ("1.0", "2.4", "2.6")}
    forms |= {"data pages 2.0": {"data_page_version": "2.0"}, "without dictionary": {"use_dictionary": False}}
    forms |= {"small row groups": {"row_group_size": 100}, "checksums": {"write_page_checksum": True}}
    forms["BYTE_STREAM_SPLIT"] = {"use_dictionary": False, "column_encoding": "BYTE_STREAM_SPLIT"}
    for name, options in forms.items():
        path = folder / f"{name}.parquet"
        write(table(SIGNAL), path, **options)
        yield Case(f"parquet {name}", path, values(read(path)))
    for kind in ("<i4", "<i8"):
        path = folder / f"delta {kind}.parquet"
        write(table(INTEGERS.astype(kind)), path, use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")
        yield Case(f"parquet DELTA_BINARY_PACKED {kind}", path, values(read(path)))
    for codec in "uncompressed snappy gzip zstd lz4 brotli".split():
        path = folder / f"polars {codec}.parquet"
        polars.DataFrame({"a": SIGNAL[:, 0], "b": INTEGERS[:, 1]}).write_parquet(path, compression=codec)
        yield Case(f"polars parquet {codec}", path, polars.read_parquet(path).to_numpy())
    frames = {
        "range": pandas.DataFrame(SIGNAL, columns=["a", "b"]),
        "seconds": pandas.DataFrame(SIGNAL, columns=["a", "b"], index=np.arange(len(SIGNAL)) / RATE),
        "times": pandas.DataFrame(SIGNAL, columns=["a", "b"], index=pandas.to_datetime(MICROSECONDS, unit="us")),
    }
    for name, frame in frames.items():
        path = folder / f"pandas {name}.parquet"
        frame.to_parquet(path)
        rate = RATE if name == "times" else None
        yield Case(f"pandas parquet, index of {name}", path, pandas.read_parquet(path), rate=rate, titles=["a", "b"])
    path = folder / "pandas gaps.parquet"
    frames["times"].drop(frames["times"].index[GAP]).to_parquet(path)
    yield Case("pandas parquet, gap in its times", path, WITH_GAP, rate=RATE, titles=["a", "b"])


def of_arrow(folder: Path) -> Iterator[Case]:
    """Types, codecs, files and streams of Arrow by PyArrow, Polars and pandas."""
    for name, (content, channels, rate) in tables().items():
        path = folder / f"{name}.arrow"
        with pyarrow.ipc.new_file(path, content.schema) as file:
            file.write_table(content, max_chunksize=1000)
        with pyarrow.ipc.open_file(path) as file:
            expected = values(file.read_all(), channels) if channels else None
        yield Case(f"arrow {name}", path, expected, rate=rate, titles=list(channels))
    for codec in (None, "lz4", "zstd"):
        path = folder / f"stream {codec}.arrow"
        options = pyarrow.ipc.IpcWriteOptions(compression=codec)
        with pyarrow.ipc.new_stream(path, table(SIGNAL).schema, options=options) as stream:
            stream.write_table(table(SIGNAL), max_chunksize=1000)
        with pyarrow.ipc.open_stream(path) as stream:
            yield Case(f"arrow stream, codec {codec}", path, values(stream.read_all()))
    for version, codec in ((2, "uncompressed"), (2, "lz4"), (2, "zstd"), (1, None)):
        path = folder / f"{version} {codec}.feather"
        pyarrow.feather.write_feather(table(SIGNAL), path, compression=codec, version=version)
        yield Case(f"feather {version}, codec {codec}", path, values(pyarrow.feather.read_table(path)))
    frame = polars.DataFrame({"a": SIGNAL[:, 0], "b": INTEGERS[:, 1]})
    for codec in ("uncompressed", "lz4", "zstd"):
        forms = {"file": (frame.write_ipc, polars.read_ipc), "stream": (frame.write_ipc_stream, polars.read_ipc_stream)}
        for name, (write, read) in forms.items():
            path = folder / f"polars {name} {codec}.arrow"
            write(path, compression=codec)
            yield Case(f"polars arrow {name}, codec {codec}", path, read(path).to_numpy())
    path = folder / "pandas.feather"
    pandas.DataFrame(SIGNAL, columns=["a", "b"]).to_feather(path)
    yield Case("pandas feather", path, pandas.read_feather(path), titles=["a", "b"])


def of_csv(folder: Path) -> Iterator[Case]:
    """Tables of text of pandas, Polars, PyArrow and NumPy: separators, titles, times, missing values."""
    frame = pandas.DataFrame(SIGNAL, columns=["a", "b"])
    timed = frame.assign(time=np.arange(len(SIGNAL)) / RATE)[["time", "a", "b"]]
    missing = frame.mask(frame > 0.5)
    for name, content, options, separator, suffix, rate in (
        ("index", frame, {}, ",", "csv", None),
        ("no index", frame, {"index": False}, ",", "csv", None),
        ("seconds", timed, {"index": False}, ",", "csv", RATE),
        ("tabs", frame, {"index": False, "sep": "\t"}, "\t", "tsv", None),
        ("semicolons", frame, {"index": False, "sep": ";"}, ";", "csv", None),
        ("CR LF", frame, {"index": False, "lineterminator": "\r\n"}, ",", "csv", None),
        ("byte order mark", frame, {"index": False, "encoding": "utf-8-sig"}, ",", "csv", None),
        ("quotes", frame, {"index": False, "quoting": 1}, ",", "csv", None),
        ("exponents", frame, {"index": False, "float_format": "%.17e"}, ",", "csv", None),
        ("missing values", missing, {"index": False}, ",", "csv", None),
        ("NaN by name", missing, {"index": False, "na_rep": "NaN"}, ",", "csv", None),
        ("UTF-16", frame, {"index": False, "encoding": "utf-16"}, ",", "csv", None),
        ("decimal commas", frame, {"index": False, "sep": ";", "decimal": ","}, ";", "csv", None),
    ):
        path = folder / f"pandas {name}.{suffix}"
        content.to_csv(path, **options)
        encoding, decimal = options.get("encoding", "utf-8"), options.get("decimal", ".")
        read = pandas.read_csv(path, sep=separator, float_precision="round_trip", encoding=encoding, decimal=decimal)
        yield Case(f"pandas csv, {name}", path, read[["a", "b"]], rate=rate, titles=["a", "b"])
    path = folder / "pandas gaps.csv"
    timed.drop(timed.index[GAP]).to_csv(path, index=False)
    yield Case("pandas csv, gap in its times", path, WITH_GAP, rate=RATE, titles=["a", "b"])
    path = folder / "polars.csv"
    polars.DataFrame({"a": SIGNAL[:, 0], "b": INTEGERS[:, 1]}).write_csv(path)
    yield Case("polars csv", path, polars.read_csv(path).to_numpy(), titles=["a", "b"])
    for name, options in {
        "spaces": {},
        "commas": {"delimiter": ","},
        "titles": {"delimiter": ",", "header": "a,b"},
    }.items():
        path = folder / f"numpy {name}.csv"
        np.savetxt(path, SIGNAL, **options)
        yield Case(f"numpy csv, {name}", path, np.loadtxt(path, delimiter=options.get("delimiter")))
