interface Known {
  tag: string;
  text: string;
}

/** Calls are kept up to this many characters in all; those read longest ago go first. */
const MOST_CHARACTERS = 32 * 1024 * 1024;

/** The `ETag` and the body of each call that was read. */
export class TagMemory {
  readonly #known = new Map<string, Known>();
  #characters = 0;

  find(path: string, query: object): Known | undefined {
    return this.#known.get(keyOf(path, query));
  }

  keep(path: string, query: object, { tag, text }: { tag: string | null; text: string }): void {
    const key = keyOf(path, query);
    this.#forget(key);
    if (tag === null) return;
    this.#known.set(key, { tag, text });
    this.#characters += text.length;
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= MOST_CHARACTERS) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#characters -= this.#known.get(key)?.text.length ?? 0;
    this.#known.delete(key);
  }
}

const keyOf = (path: string, query: object) => JSON.stringify([path, query]);
