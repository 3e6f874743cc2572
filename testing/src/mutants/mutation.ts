/** A mistake that a careless change of the product could make. */
export interface Mutation {
  /** What the mutated product does wrong, in words. */
  name: string;
  /** Path from the repository's root. */
  file: string;
  /** The code to replace, which must occur once in the file. */
  find: string;
  replace: string;
  /** The test files that must notice it: one of their tests must fail. */
  tests: string[];
}

/** @returns the mutated source @throws Error if the code to replace doesn't occur exactly once */
export function mutate(source: string, { name, file, find, replace }: Mutation): string {
  const [before, after, ...more] = source.split(find);
  if (after === undefined) throw new Error(`"${name}" can't be applied: ${file} doesn't contain ${find}`);
  if (more.length > 0) throw new Error(`"${name}" is ambiguous: ${file} contains more than once ${find}`);
  return before + replace + after;
}
