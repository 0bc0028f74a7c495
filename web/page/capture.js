// Collects the microphone's samples, first channel, in blocks.
const BLOCK = 2048;

class Capture extends AudioWorkletProcessor {
  #block = new Float32Array(BLOCK);
  #filled = 0;

  process([[samples]]) {
    for (const sample of samples ?? []) {
      this.#block[this.#filled++] = sample;
      if (this.#filled === BLOCK) {
        this.port.postMessage(this.#block, [this.#block.buffer]);
        this.#block = new Float32Array(BLOCK);
        this.#filled = 0;
      }
    }
    return true;
  }
}

registerProcessor('capture', Capture);
