interface Known {
  tag: string;
  text: string;
}

/** The maximum length of all cached bodies together. The oldest ones are dropped first. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** Caches the body of each call with its `ETag`. */
export class BodyCache {
  readonly #known = new Map<string, Known>();
  #characters = 0;

  find(path: string, query: object): Known | undefined {
    return this.#known.get(keyOf(path, query));
  }

  keep(path: string, query: object, { tag, text }: { tag: string | null; text: string }): void {
    const key = keyOf(path, query);
    this.#drop(key);
    if (tag === null) return;
    this.#known.set(key, { tag, text });
    this.#characters += text.length;
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= MAX_CHARACTERS) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#characters -= this.#known.get(key)?.text.length ?? 0;
    this.#known.delete(key);
  }
}

const keyOf = (path: string, query: object) => JSON.stringify([path, query]);
