# When does somebody speak? The network of the silero-vad package over a whole sound file, a row per
# chunk. The sound is made here (vowels by formants, between noise), or named by the caller.
# SPDX-License-Identifier: Apache-2.0
import os
import wave

import numpy

from case import CACHE, Case, Failure, extract, fetch, relative

RATE, CHUNK, CONTEXT = 16000, 512, 64
# Formant frequencies of a, i, u, e, o in Hz.
VOWELS = [(730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480),
          (570, 840, 2410)]


def resonate(signal, frequency, width):
    """A second-order resonator."""
    radius = numpy.exp(-numpy.pi * width / RATE)
    a1, a2 = 2 * radius * numpy.cos(2 * numpy.pi * frequency / RATE), -radius * radius
    out = numpy.zeros_like(signal)
    y1 = y2 = 0.0
    for i, x in enumerate(signal):
        y1, y2 = (1 - radius) * x + a1 * y1 + a2 * y2, y1
        out[i] = y1
    return out


def speak(seconds, seed):
    """Vowels in turn on a voice whose pitch moves, with pauses as between syllables."""
    count = int(seconds * RATE)
    time = numpy.arange(count) / RATE
    random = numpy.random.default_rng(seed)
    pitch = 118 + 14 * numpy.sin(2 * numpy.pi * 1.7 * time) - 6 * time
    phase = numpy.cumsum(pitch) / RATE
    source = (phase % 1 < 0.1).astype(float) + 0.01 * random.standard_normal(count)
    voice = numpy.zeros(count)
    length = RATE // 5
    for number, start in enumerate(range(0, count, length)):
        part = source[start:start + length]
        for frequency, width in zip(VOWELS[number % len(VOWELS)], (70, 110, 160)):
            voice[start:start + len(part)] += resonate(part, frequency, width)
    syllables = numpy.clip(1.6 * numpy.abs(numpy.sin(numpy.pi * 5 * time)), 0.05, 1)
    return 0.3 * voice * syllables / max(abs(voice).max(), 1e-9)


def make_sound(path):
    """Noise, speech, noise, speech, noise: written to `path`. Returns where the speech is."""
    random = numpy.random.default_rng(3)
    spans, parts, at = [], [], 0.0
    for seconds, voice in ((1.5, False), (2.0, True), (1.5, False), (1.5, True), (1.5, False)):
        noise = 0.001 * random.standard_normal(int(seconds * RATE))
        if voice:
            noise += speak(seconds, len(spans))
            spans.append((at, at + seconds))
        parts.append(noise)
        at += seconds
    samples = numpy.clip(numpy.concatenate(parts) * 32767, -32768, 32767).astype("<i2")
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())
    return spans


def read_sound(path):
    with wave.open(path, "rb") as file:
        if file.getsampwidth() != 2 or file.getframerate() != RATE:
            raise Failure(f"{path}: expected 16-bit samples at {RATE} a second, found "
                          f"{8 * file.getsampwidth()} bits at {file.getframerate()}")
        samples = numpy.frombuffer(file.readframes(file.getnframes()), "<i2")
        return samples.reshape(-1, file.getnchannels()).mean(axis=1).astype("f4") / 32768


def chunks_of(sound):
    """One row per chunk with the end of the one before, and the state at the beginning."""
    count = len(sound) // CHUNK
    if count == 0:
        raise Failure(f"the sound is shorter than {CHUNK} samples")
    padded = numpy.concatenate([numpy.zeros(CONTEXT, "f4"), sound[:count * CHUNK]])
    rows = [padded[i * CHUNK:(i + 1) * CHUNK + CONTEXT] for i in range(count)]
    state = numpy.zeros((1, 1, 128), "f4")
    return {"input": numpy.stack(rows), "h": state, "c": state}


def spans_of(scores, threshold=0.5, least=0.25):
    """Stretches of speech in seconds; gaps below `least` are closed."""
    spans = []
    for number, score in enumerate(scores):
        start, end = number * CHUNK / RATE, (number + 1) * CHUNK / RATE
        if score < threshold:
            continue
        if spans and start - spans[-1][1] < least:
            spans[-1][1] = end
        else:
            spans.append([start, end])
    return [span for span in spans if span[1] - span[0] >= least]


def demo(options):
    model = extract(fetch("silero-vad"), "/silero_vad_16k_sequence.onnx")
    path, expected = options.sound, None
    if not path:
        path = os.path.join(CACHE, "speech.wav")
        expected = make_sound(path)
    sound = read_sound(path)
    case = Case(options, "speech", model, chunks_of(sound))
    scores, _ = case.outputs()
    print(f"\n  {relative(path)}: {len(sound) / RATE:.1f} s")
    found = spans_of(scores.reshape(-1))
    for start, end in found:
        print(f"  speech from {start:.2f} s to {end:.2f} s")
    case.compare(1e-3)
    if expected and (len(found) != len(expected) or any(
            max(abs(a[0] - b[0]), abs(a[1] - b[1])) > 0.3 for a, b in zip(found, expected))):
        raise Failure(f"speech is at {expected}, found was {found}")
