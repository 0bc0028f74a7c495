"""Writes fixtures.json: results in float64 by NumPy, SciPy and librosa for signals of an integer generator, which parity.mjs
compares with. Run: python make_fixtures.py (numpy 2.4, scipy 1.17, librosa 0.11)."""

import json
import struct
from pathlib import Path

import librosa
import numpy as np
import scipy.signal

HERE = Path(__file__).parent
WEIGHTS = HERE.parent.parent / "models/weights/learned_welch_peaks_bearing.safetensors"


def noise(count: int, seed: int) -> np.ndarray:
    """Values from -0.5 to 0.5 of a linear congruential generator of 32 bits, in float32."""
    values = np.empty(count)
    for i in range(count):
        seed = (seed * 1664525 + 1013904223) % 2**32
        values[i] = seed / 2**32 - 0.5
    return values.astype(np.float32).astype(np.float64)


def rounded(values: np.ndarray) -> list:
    return [float(f"{value:.9g}") for value in np.asarray(values, np.float64).ravel()]


def parts(values: np.ndarray) -> dict:
    return {"re": rounded(values.real), "im": rounded(values.imag)}


def one_sided(segments: np.ndarray, window: np.ndarray) -> np.ndarray:
    power = np.abs(np.fft.rfft(segments * window)) ** 2
    power[..., 1:-1] *= 2
    return power


def frames(signal: np.ndarray, count: int, n: int, hop: int) -> np.ndarray:
    return np.stack([signal[..., i * hop : i * hop + n] for i in range(count)], -2)


def strongest(power: np.ndarray, k: int) -> dict:
    bins = np.argsort(-power, axis=-1, kind="stable")[:, :k]
    return {"bins": bins.ravel().tolist(), "power": rounded(np.take_along_axis(power, bins, -1))}


def learned(signal: np.ndarray) -> dict:
    """The definition of the estimate: mean power of the open segments, and a gain over three bins."""
    data = WEIGHTS.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    body = data[8 + size :]
    tensors = {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], "<f4").astype(np.float64).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }
    is_open = tensors["segment_logits"] >= 0
    power = one_sided(frames(signal, 8, 256, 128)[:, is_open], tensors["taper"]).mean(1)
    gain = np.exp(tensors["log_gain"])
    below = np.concatenate([power[:, 1:2], power[:, :-1]], 1)
    above = np.concatenate([power[:, 1:], power[:, -2:-1]], 1)
    power = gain[:, 0] * below + gain[:, 1] * power + gain[:, 2] * above
    return {"psd": rounded(power), "peaks": strongest(power, 16)}


def main() -> None:
    hann = scipy.signal.get_window("hann", 256)
    fixtures: dict = {"transforms": []}
    for n in [1, 2, 8, 15, 37, 64, 100, 256, 1000]:
        re, im = noise(2 * n, n).reshape(2, n), noise(2 * n, n + 1).reshape(2, n)
        half = n // 2 + 1
        spectrum = noise(2 * half, 3).reshape(2, half) + 1j * noise(2 * half, 4).reshape(2, half)
        fixtures["transforms"].append({
            "n": n,
            "fft": parts(np.fft.fft(re + 1j * im)),
            "ifft": parts(np.fft.ifft(re + 1j * im, norm="ortho")),
            "rfft": parts(np.fft.rfft(re, norm="forward")),
            "irfft": rounded(np.fft.irfft(spectrum, n)),
        })
    fixtures["peaks"] = []
    for n, segments, k in [(256, 2, 16), (64, 3, 8), (100, 2, 5)]:
        signal = noise(12 * (n + (segments - 1) * (n // 2)), n).reshape(12, -1)
        power = one_sided(frames(signal, segments, n, n // 2), scipy.signal.get_window("hann", n)).mean(1)
        fixtures["peaks"].append({"n": n, "segments": segments, "k": k, **strongest(power, k)})
    long = noise(20_000, 5)
    frequencies, power = scipy.signal.welch(long, 8_000, "hann", 256)
    fixtures["welch"] = {"frequencies": rounded(frequencies), "power": rounded(power)}
    _, power = scipy.signal.welch(long, 8_000, ("kaiser", 8.6), 500, 300, scaling="spectrum")
    fixtures["spectrum"] = {"power": rounded(power)}
    columns = one_sided(frames(long[:2_000], 14, 256, 128) - frames(long[:2_000], 14, 256, 128).mean(-1, keepdims=True), hann)
    fixtures["spectrogram"] = {"power": rounded(columns / (8_000 * (hann**2).sum()))}
    smooth = np.convolve(noise(400, 6), np.hanning(9), "valid")
    found, _ = scipy.signal.find_peaks(smooth, distance=5, prominence=0.1)
    found = found[np.argsort(-smooth[found], kind="stable")][:10]
    prominence = scipy.signal.peak_prominences(smooth, found)[0]
    fixtures["maxima"] = {
        "signal": rounded(smooth), "bins": found.tolist(), "power": rounded(smooth[found]), "prominence": rounded(prominence),
    }
    mel = librosa.feature.melspectrogram(y=noise(4_000, 7), sr=16_000, n_fft=512, hop_length=200, n_mels=40)
    fixtures["mel"] = {"values": rounded(10 * np.log10(np.maximum(mel, 1e-10)))}
    mel = librosa.feature.melspectrogram(
        y=noise(4_000, 8), sr=16_000, n_fft=400, hop_length=160, n_mels=20, htk=True, norm=None, fmin=100, fmax=6_000, center=False, power=1,
    )
    fixtures["mel_htk"] = {"values": rounded(np.log(mel + 1e-6))}
    fixtures["learned"] = learned(noise(4 * 1152, 9).reshape(4, 1152))
    (HERE / "fixtures.json").write_text(json.dumps(fixtures, separators=(",", ":")) + "\n")


main()
