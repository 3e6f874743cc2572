import { fileURLToPath } from 'node:url';

/** The file that runs a program. */
export function programOf(name: string): string {
  return fileURLToPath(new URL(`../../services/${name}/src/main.ts`, import.meta.url));
}
