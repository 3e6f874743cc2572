import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createProgram } from '@crs/crs/program';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = globSync('**/*.md', { cwd: ROOT, exclude: ['**/node_modules', '.local'] });
const program = createProgram();

/** Returns the uses of `crs` in a page's commands and code spans: the words up to the end of the command. */
function usesOf(page: string): string[][] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/\\\n\s*/g, ' ');
  const blocks = [...text.matchAll(/^ *```sh\n(.*?)^ *```/gms)].flatMap(([, block]) => block!.split('\n'));
  const spans = [...text.replaceAll(/^ *```.*?^ *```/gms, '').matchAll(/`([^`]+)`/g)].map(([, span]) =>
    span!.replaceAll('\n', ' '),
  );
  const uses = [...blocks, ...spans.filter((span) => /^(npm run -s |kubectl .*-- )?crs /.test(span))].flatMap((line) => [
    ...line.replaceAll(/"[^"]*"|'[^']*'/g, 'TEXT').matchAll(/(?:(?:^|\(|&& |-- )crs|npm run -s crs --) (?!-- )([^|;&<>)#]+)/g),
  ]);
  return uses.map(([, words]) => words!.trim().split(/\s+/));
}

/** Returns the first word that `crs` doesn't know as a command or an option of it; undefined if it knows all. */
function unknownWord(words: string[]): string | undefined {
  let command = program;
  const known = new Map([['--help', false], ['--version', false], ...program.options.map(takesValue)]);
  let isValue = false;
  for (const word of words) {
    const option = /^--[a-z-]+/.exec(word)?.[0];
    const follows = isValue;
    isValue = option !== undefined && known.get(option) === true && !word.includes('=');
    if (option !== undefined) {
      if (!known.has(option)) return word;
    } else if (follows) continue;
    else if (command.commands.length > 0 && /^[a-z][a-z-]*$/.test(word)) {
      const next = command.commands.find((each) => each.name() === word);
      if (!next) return word;
      command = next;
      for (const each of command.options) known.set(...takesValue(each));
    }
  }
  return undefined;
}

/** Returns an option's name, and whether the next word is its value. */
function takesValue({ long, required }: (typeof program.options)[number]): [name: string, takesValue: boolean] {
  return [long!, required];
}

test('pages use only commands and options that crs has', () => {
  const uses = PAGES.flatMap((page) => usesOf(page).map((words) => ({ page, words })));
  expect(uses.length).toBeGreaterThan(100);
  const unknown = uses.flatMap(({ page, words }) => {
    const word = unknownWord(words);
    return word === undefined ? [] : [`${page}: crs ${words.join(' ')}: ${word}`];
  });
  expect(unknown).toEqual([]);
});

test.each([
  ['a command', ['org', 'remove', 'acme'], 'remove'],
  ['an option', ['org', 'update', 'acme', '--limit', '1/1'], '--limit'],
  ['an option of another command', ['org', 'show', 'acme', '--rate-limit', '1/1'], '--rate-limit'],
])('notices %s that crs lacks', (_, words, word) => {
  expect(unknownWord(words)).toBe(word);
});
