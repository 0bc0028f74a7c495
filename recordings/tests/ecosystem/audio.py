"""Audio: files of soundfile (libsndfile), SciPy and ffmpeg."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.io.wavfile
import soundfile

from case import EQUAL, LOSSY, SIGNAL, Case

RATE = 44_100
# Format, subtype and extension.
SOUNDFILE = [
    *(("WAV", subtype, "wav") for subtype in "PCM_U8 PCM_16 PCM_24 PCM_32 FLOAT DOUBLE ULAW ALAW".split()),
    *(("WAV", subtype, "wav") for subtype in "IMA_ADPCM MS_ADPCM GSM610 G721_32".split()),
    *(("WAVEX", subtype, "wav") for subtype in "PCM_U8 PCM_16 PCM_24 PCM_32 FLOAT DOUBLE ULAW ALAW".split()),
    *(("RF64", subtype, "rf64") for subtype in "PCM_16 PCM_24 FLOAT".split()),
    *(("FLAC", subtype, "flac") for subtype in "PCM_S8 PCM_16 PCM_24".split()),
    *(("OGG", subtype, "ogg") for subtype in "VORBIS OPUS".split()),
    ("MP3", "MPEG_LAYER_III", "mp3"),
    *(("AIFF", subtype, "aiff") for subtype in "PCM_S8 PCM_16 PCM_24 PCM_32 FLOAT DOUBLE ULAW ALAW IMA_ADPCM".split()),
    *(("CAF", subtype, "caf") for subtype in "PCM_S8 PCM_16 PCM_24 PCM_32 FLOAT DOUBLE ULAW ALAW".split()),
    *(("CAF", subtype, "caf") for subtype in "ALAC_16 ALAC_20 ALAC_24 ALAC_32".split()),
    ("W64", "PCM_16", "w64"),
    ("AU", "PCM_16", "au"),
]
MONO = {"GSM610", "G721_32"}
# Name, arguments of ffmpeg, and tolerance.
FFMPEG = [
    ("pcm_u8.wav", "-c:a pcm_u8", EQUAL),
    ("pcm_s16le.wav", "-c:a pcm_s16le", EQUAL),
    ("pcm_s24le.wav", "-c:a pcm_s24le", EQUAL),
    ("pcm_s32le.wav", "-c:a pcm_s32le", EQUAL),
    ("pcm_f32le.wav", "-c:a pcm_f32le", EQUAL),
    ("pcm_f64le.wav", "-c:a pcm_f64le", EQUAL),
    ("pcm_mulaw.wav", "-c:a pcm_mulaw", EQUAL),
    ("pcm_alaw.wav", "-c:a pcm_alaw", EQUAL),
    ("adpcm_ima.wav", "-c:a adpcm_ima_wav", EQUAL),
    ("adpcm_ms.wav", "-c:a adpcm_ms", EQUAL),
    ("mp3.wav", "-c:a libmp3lame", LOSSY),
    ("64-bit sizes.wav", "-rf64 always", EQUAL),
    ("unknown sizes.wav", "-f wav -", EQUAL),
    ("s16.flac", "-c:a flac", EQUAL),
    ("s32.flac", "-c:a flac -sample_fmt s32", EQUAL),
    ("vorbis.ogg", "-c:a libvorbis", LOSSY),
    ("flac.oga", "-c:a flac", EQUAL),
    ("opus.opus", "-c:a libopus -ar 48000", LOSSY),
    ("cbr.mp3", "-c:a libmp3lame -b:a 128k", LOSSY),
    ("vbr.mp3", "-c:a libmp3lame -q:a 2", LOSSY),
    ("aac.aac", "-c:a aac", LOSSY),
    ("aac.m4a", "-c:a aac", LOSSY),
    ("aac, fragments.mp4", "-c:a aac -movflags frag_keyframe+empty_moov", LOSSY),
    ("alac s16.m4a", "-c:a alac", EQUAL),
    ("alac s24.m4a", "-c:a alac -sample_fmt s32p", EQUAL),
    ("mp3.mp4", "-c:a libmp3lame", LOSSY),
    ("flac.mp4", "-c:a flac -strict experimental", EQUAL),
    ("pcm_s8.aiff", "-c:a pcm_s8", EQUAL),
    ("pcm_s16be.aiff", "-c:a pcm_s16be", EQUAL),
    ("pcm_s24be.aiff", "-c:a pcm_s24be", EQUAL),
    ("pcm_s32be.aiff", "-c:a pcm_s32be", EQUAL),
    ("pcm_f32be.aiff", "-c:a pcm_f32be", EQUAL),
    ("pcm_f64be.aiff", "-c:a pcm_f64be", EQUAL),
    ("pcm_s16le.aifc", "-c:a pcm_s16le -f aiff", EQUAL),
    ("pcm_s16le.caf", "-c:a pcm_s16le", EQUAL),
    ("pcm_s24be.caf", "-c:a pcm_s24be", EQUAL),
    ("pcm_s32le.caf", "-c:a pcm_s32le", EQUAL),
    ("pcm_f32le.caf", "-c:a pcm_f32le", EQUAL),
    ("pcm_f64be.caf", "-c:a pcm_f64be", EQUAL),
    ("pcm_mulaw.caf", "-c:a pcm_mulaw", EQUAL),
    ("pcm_alaw.caf", "-c:a pcm_alaw", EQUAL),
    ("alac.caf", "-c:a alac", EQUAL),
    ("pcm_s16le.mka", "-c:a pcm_s16le", EQUAL),
    ("pcm_f32le.mka", "-c:a pcm_f32le", EQUAL),
    ("flac.mka", "-c:a flac", EQUAL),
    ("vorbis.mka", "-c:a libvorbis", LOSSY),
    ("alac.mka", "-c:a alac", EQUAL),
    ("aac.mkv", "-c:a aac", LOSSY),
    ("mp3.mkv", "-c:a libmp3lame", LOSSY),
    ("vorbis.webm", "-c:a libvorbis", LOSSY),
    ("opus.webm", "-c:a libopus -ar 48000", LOSSY),
]


def of_soundfile(folder: Path) -> Iterator[Case]:
    """Every format and subtype of soundfile that has an extension of ours, and two formats that are none of ours."""
    for kind, subtype, extension in SOUNDFILE:
        path = folder / f"{kind} {subtype}.{extension}"
        rate = {"OPUS": 48_000, "GSM610": 8_000, "G721_32": 8_000}.get(subtype, RATE)
        signal = SIGNAL[:, 0] if subtype in MONO else SIGNAL
        soundfile.write(path, signal, rate, format=kind, subtype=subtype)
        expected, _ = soundfile.read(path)
        tolerance = LOSSY if subtype in ("VORBIS", "MPEG_LAYER_III") else EQUAL
        yield Case(f"soundfile {kind} {subtype}", path, expected, tolerance, rate)


def of_scipy(folder: Path) -> Iterator[Case]:
    """Every type that SciPy writes."""
    for kind in ("u1", "i2", "i4", "i8", "f4", "f8"):
        path = folder / f"scipy {kind}.wav"
        full = 2.0 ** (8 * np.dtype(kind).itemsize - 1)
        middle = full if kind[0] == "u" else 0.0
        signal = SIGNAL if kind[0] == "f" else np.round(SIGNAL * full + middle)
        scipy.io.wavfile.write(path, RATE, signal.astype(kind))
        _, read = scipy.io.wavfile.read(path)
        expected = read if kind[0] == "f" else (read.astype(np.float64) - middle) / full
        yield Case(f"scipy wav {kind}", path, expected, rate=RATE)


def of_ffmpeg(folder: Path) -> Iterator[Case]:
    """Every codec of ours in every container of ours that ffmpeg writes."""
    quiet = ["ffmpeg", "-nostdin", "-loglevel", "error", "-y"]
    source = folder / "source.wav"
    soundfile.write(source, SIGNAL, RATE, subtype="PCM_24")
    for name, arguments, tolerance in FFMPEG:
        path = folder / name
        is_piped = arguments.endswith(" -")
        target = arguments.split() if is_piped else [*arguments.split(), path]
        written = subprocess.run([*quiet, "-i", source, *target], check=True, stdout=subprocess.PIPE)
        if is_piped:
            path.write_bytes(written.stdout)
        decoded = subprocess.run([*quiet, "-i", path, "-f", "f64le", "-"], check=True, stdout=subprocess.PIPE)
        expected = np.frombuffer(decoded.stdout, "<f8").reshape(-1, 2)
        if path.suffix == ".ogg":
            # ffmpeg 5 loses the last 128 samples of them.
            expected, _ = soundfile.read(path)
        yield Case(f"ffmpeg {name}", path, expected, tolerance, 48_000 if "opus" in name else RATE)
