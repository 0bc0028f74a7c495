"""Files that are not read as their own readers read them, by the names of their cases. Each is checked: a refusal by a
part of its message, a loss by a part of its note, and a fault, with its reason, has to be one."""

# Files that are refused by name.
REFUSED = {
    # Codecs and containers that Symphonia does not decode, or that are none of the formats.
    "soundfile WAV GSM610": "its samples are encoding 0x0031",
    "soundfile WAV G721_32": "its samples are encoding 0x0040",
    "soundfile OGG OPUS": "its samples are Opus, which is not read: ffmpeg -i",
    "soundfile AIFF IMA_ADPCM": "aifc: compression type not supported",
    "soundfile CAF PCM_S8": "caf: unsupported bits per channel",
    "soundfile CAF ALAC_16": "it refers to a place that no file has",
    "soundfile CAF ALAC_20": "it refers to a place that no file has",
    "soundfile CAF ALAC_24": "it refers to a place that no file has",
    "soundfile CAF ALAC_32": "it refers to a place that no file has",
    "soundfile W64 PCM_16": "its extension names no format of recordings",
    "soundfile AU PCM_16": "its extension names no format of recordings",
    "ffmpeg mp3.wav": "its samples are MP3",
    "ffmpeg opus.opus": "its samples are Opus, which is not read: ffmpeg -i",
    "ffmpeg opus.webm": "its samples are Opus, which is not read: ffmpeg -i",
    # Integers of more than 32 bits in WAV.
    "scipy wav i8": "its samples are 64-bit PCM in 8 bytes",
    "scipy/test-8000Hz-le-3ch-5S-36bit.wav": "its samples are 36-bit PCM in 5 bytes",
    "scipy/test-8000Hz-le-3ch-5S-45bit.wav": "its samples are 45-bit PCM in 6 bytes",
    "scipy/test-8000Hz-le-3ch-5S-53bit.wav": "its samples are 53-bit PCM in 7 bytes",
    "scipy/test-8000Hz-le-3ch-5S-64bit.wav": "its samples are 64-bit PCM in 8 bytes",
    # Damaged: its blocks of 4 bytes would hold three samples of 24 bits.
    "scipy/test-8000Hz-le-3ch-5S-24bit-inconsistent.wav": "its samples are 24-bit PCM in 1 bytes",
    # Types and shapes that are no samples.
    "numpy long double": "its numbers are of type <f16",
    "numpy complex long double": "its numbers are of type <c32",
    "numpy three dimensions": "its array has 3 dimensions, not 1 or 2",
    "numpy fields": "its numbers are of a type with several fields",
    "numpy objects": "its numbers are of type |O",
    **{
        f"MATLAB 5{form}, {content}": "it has no array of numbers"
        for form in ("", ", compressed")
        for content in ("struct", "three dimensions", "cells", "text")
    },
    # Structures of HDF5 2.0 that hdf5-pure does not read, and texts.
    **{
        f"HDF5 latest, {name}": "invalid data layout version: 5"
        for name in ("gzip", "gzip and shuffle", "lzf", "fletcher32", "scale-offset")
    },
    "HDF5 latest, unlimited in both": "a version 2 B-tree chunk index cannot be enumerated",
    "HDF5 text": "it has no data set of numbers beside x",
    # Columns that are no numbers, decimals of 256 bits, and Brotli.
    **{
        f"{kind} {name}": "it has no column of numbers"
        for kind in ("parquet", "arrow")
        for name in ("decimal256(40, 3)", "texts alone")
    },
    "parquet codec brotli": "Disabled feature at compile time: brotli",
    "polars parquet brotli": "Disabled feature at compile time: brotli",
    "feather 1, codec None": "it is Feather of version 1",
    "pandas csv, UTF-16": "its text is UTF-16; accepted is UTF-8",
    "pandas csv, decimal commas": "has a decimal comma; accepted are points",
    "TDMS text": "it has no channel of numbers but",
    "nptdms/raw1.tdms": "it has raw data of DAQmx",
    "miniSEED text": "it holds no samples",
    # Formats of signals of other widths, or compressed.
    **{f"WFDB {form}": f"its samples have format {form}" for form in (310, 311, 508, 516, 524)},
    # Encodings of seismic stations of the time before Steim's.
    "obspy/GEOSCOPE-16bit-3exp-encoded.mseed": "its samples have encoding 14",
    "obspy/GEOSCOPE16_4_encoding.mseed": "its samples have encoding 14",
    "obspy/CDSN-encoded.mseed": "its samples have encoding 16",
    "obspy/CDSN_encoding.mseed": "its samples have encoding 16",
    "obspy/SRO-encoded.mseed": "its samples have encoding 30",
    "obspy/SRO_encoding.mseed": "its samples have encoding 30",
    "obspy/DWWSSN-encoded.mseed": "its samples have encoding 32",
    "obspy/DWWSSN_encoding.mseed": "its samples have encoding 32",
    # Its byte order is 95, neither 0 nor 1.
    "obspy/record_with_invalid_word_order.mseed": "its samples are damaged",
}

# Damaged files of which the samples before the damage are read.
LOSSES = {
    "scipy/test-44100Hz-le-1ch-4bytes-early-eof.wav": "truncated: the header announces 4410 samples per channel",
    "obspy/brokenlastrecord.mseed": "damaged: at byte 4096 there is no record of version 2",
    "obspy/corrupt_one_extra_byte_at_end.mseed": "damaged: at byte 512 there is no record of version 2",
}

_DELAY = "the delay and padding of the encoder, which the container states, are kept, with a note"
_ROUNDING = "libsndfile rounds the differences of ADPCM otherwise than ffmpeg, whose samples are read"
# Files that are read otherwise than by their own readers.
FAULTS = {
    "ffmpeg aac.m4a": _DELAY,
    "ffmpeg mp3.mp4": _DELAY,
    "ffmpeg mp3.mkv": _DELAY,
    "soundfile WAV IMA_ADPCM": _ROUNDING,
    "soundfile WAV MS_ADPCM": _ROUNDING,
}
