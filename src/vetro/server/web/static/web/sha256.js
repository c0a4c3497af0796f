// SHA-256 of bytes that come in parts. What browsers have wants all of them at once, and does nothing over plain HTTP.
const fraction = (number) => Math.floor((number - Math.floor(number)) * 2 ** 32);
const primes = [];
for (let n = 2; primes.length < 64; n += 1) if (primes.every((one) => n % one)) primes.push(n);
const ROUNDS = Uint32Array.from(primes, (one) => fraction(Math.cbrt(one)));
const BEGIN = primes.slice(0, 8).map((one) => fraction(Math.sqrt(one)));

export class Sha256 {
  #state = Uint32Array.from(BEGIN);
  #words = new Uint32Array(64);
  #rest = new Uint8Array(128); // what is no whole block yet
  #held = 0;
  #length = 0;

  /** Takes bytes: a Uint8Array. */
  update(bytes) {
    this.#length += bytes.length;
    let at = 0;
    if (this.#held) {
      at = Math.min(64 - this.#held, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#held);
      this.#held += at;
      if (this.#held < 64) return;
      this.#block(this.#rest, 0);
      this.#held = 0;
    }
    for (; at + 64 <= bytes.length; at += 64) this.#block(bytes, at);
    this.#rest.set(bytes.subarray(at));
    this.#held = bytes.length - at;
  }

  /** The digest of all bytes, in hexadecimal digits; no more bytes come after it. */
  digest() {
    const end = this.#held < 56 ? 64 : 128;
    this.#rest[this.#held] = 0x80;
    this.#rest.fill(0, this.#held + 1);
    const view = new DataView(this.#rest.buffer);
    view.setUint32(end - 8, Math.floor(this.#length / 2 ** 29));
    view.setUint32(end - 4, (this.#length % 2 ** 29) * 8);
    for (let at = 0; at < end; at += 64) this.#block(this.#rest, at);
    return Array.from(this.#state, (one) => one.toString(16).padStart(8, "0")).join("");
  }

  #block(bytes, at) {
    const words = this.#words, state = this.#state;
    for (let i = 0; i < 16; i += 1, at += 4) words[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    for (let i = 16; i < 64; i += 1) {
      const x = words[i - 15], y = words[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + t1) | 0;
      d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((one, i) => { state[i] += one; });
  }
}
