import { fileURLToPath } from 'node:url';

/** Returns the entry point of a program. */
export function programOf(name: string): string {
  return fileURLToPath(new URL(`../../services/${name}/src/main.ts`, import.meta.url));
}
