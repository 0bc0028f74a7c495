#!/usr/bin/env python3
"""The recording motor.flac: five seconds of a motor's acceleration with a damaged bearing, synthesised.

    docs/recordings/make_motor.py

writes motor.flac beside this file, 16 bits at 12 kHz, by the program `flac` (1.4.2 wrote the file of the repository).
Noise is that of Python's Mersenne Twister with a fixed seed, so the samples are the same on every run. Sums of:

- unbalance: the speed of the shaft, 29.6 Hz, with its second and third harmonic;
- hum: twice the frequency of the mains, 100 Hz;
- gear mesh: 19 teeth, 562.4 Hz, modulated by the shaft;
- a defect of the outer race: 3.58 impacts per turn, each of which excites two resonances, at 2.5 and 3.5 kHz;
- white noise.
"""

import math
import random
import struct
import subprocess
import wave
from pathlib import Path

RATE, SECONDS, SHAFT = 12_000, 5, 29.6
# Amplitude, frequency in hertz, decay time in seconds.
RESONANCES = [(0.30, 3_500.0, 0.0012), (0.12, 2_520.0, 0.0018)]


def samples() -> list[float]:
    """Acceleration, with full scale at 1."""
    noise = random.Random(2026)
    signal = []
    for index in range(RATE * SECONDS):
        time = index / RATE
        turn = 2 * math.pi * SHAFT * time
        value = 0.06 * math.sin(turn) + 0.02 * math.sin(2 * turn) + 0.01 * math.sin(3 * turn)
        value += 0.02 * math.sin(2 * math.pi * 100.0 * time)
        value += 0.03 * (1 + 0.4 * math.cos(turn)) * math.sin(19 * turn)
        # Twelve uniform values have a variance of 1.
        signal.append(value + 0.015 * (sum(noise.random() for _ in range(12)) - 6))
    impact = 0.0
    while impact < SECONDS:
        strength = 1 + 0.2 * (2 * noise.random() - 1)
        first = math.ceil(impact * RATE)
        for index in range(first, min(first + 240, len(signal))):
            after = index / RATE - impact
            for amplitude, frequency, decay in RESONANCES:
                signal[index] += strength * amplitude * math.exp(-after / decay) * math.sin(2 * math.pi * frequency * after)
        # Balls slip, so impacts are up to 1 % early or late.
        impact += (1 + 0.01 * (2 * noise.random() - 1)) / (3.58 * SHAFT)
    return signal


def main() -> None:
    folder = Path(__file__).parent
    path = folder / "motor.wav"
    with wave.open(str(path), "wb") as recording:
        recording.setnchannels(1)
        recording.setsampwidth(2)
        recording.setframerate(RATE)
        values = [max(-32_767, min(32_767, round(32_767 * value))) for value in samples()]
        recording.writeframes(struct.pack(f"<{len(values)}h", *values))
    try:
        command = ["flac", "--silent", "--force", "--best", "--no-padding", "--delete-input-file"]
        subprocess.run([*command, "-o", str(path.with_suffix(".flac")), str(path)], check=True)
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
