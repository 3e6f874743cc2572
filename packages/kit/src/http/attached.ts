/**
 * Values that belong to requests or answers and end with them. A WeakMap is no place for them: V8's collections of young objects keep each value of a
 * WeakMap that is old itself, so all that a request refers to would be copied, and stay until the whole heap is marked.
 */
export class Attached<Owner extends object, Value> {
  readonly #key = Symbol('attached');

  get(owner: Owner): Value | undefined {
    return (owner as Record<symbol, Value>)[this.#key];
  }

  set(owner: Owner, value: Value): void {
    (owner as Record<symbol, Value>)[this.#key] = value;
  }
}
