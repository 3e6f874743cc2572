import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const find = (pattern: string) => globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules', '.local'] });
const exists = (path: string) => existsSync(join(ROOT, path));

const PAGES = find('**/*.md');
const SERVICES = find('services/*/README.md').map((path) => path.split('/')[1]!);

/** Returns the URL fragment of a heading. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
const anchorsOf = (page: string) => [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchor(heading!));

test('the targets of relative links exist', () => {
  const broken = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|\/|#)([^)\s#]+)(?:#([^)\s]+))?\)|<img src="([^"]+)"|\]\(#([^)]+)\)/g)]
      .filter(([, path, part, image, ownPart]) => {
        const target = join(dirname(page), path ?? image ?? '');
        if (ownPart !== undefined) return !anchorsOf(page).includes(ownPart);
        return !exists(target) || (part !== undefined && !anchorsOf(target).includes(part));
      })
      .map(([link]) => `${page}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test('paths in backticks exist', () => {
  const missing = PAGES.flatMap((page) => {
    // Paths may also be relative to the page's folder, to its src, or to the src of a service.
    const bases = ['', dirname(page), join(dirname(page), 'src'), ...SERVICES.map((name) => `services/${name}`)];
    return [
      ...read(page).matchAll(
        /`(?:node |vitest run )?([\w.@-]+(?:\/[\w.@-]+)+\.\w+|(?:packages|services|trials|deploy|docs|charts|\.ci)\/[\w./-]+)[^`]*`/g,
      ),
    ]
      .map(([, path]) => path!)
      .filter((path) => !path.startsWith('.local/') && !bases.some((base) => exists(join(base, path))))
      .map((path) => `${page}: ${path}`);
  });
  expect(missing).toEqual([]);
});

/** Returns the parts of a quoted name between its placeholders, which must all be in the test's source. */
const partsOf = (name: string) =>
  name
    .split(/%s|%j|%i|…|\.\.\./)
    .map((part) => part.trim())
    .filter((part) => part !== '');

test.each([
  ['docs/asvs.md', 100],
  ['docs/threat-model.md', 20],
])('the tests that %s quotes exist', (page, moreThan) => {
  const cited = [...read(page).matchAll(/`([\w./-]+\.test\.ts)`:\s+((?:“[^”]+”(?:,\s+)?)+)/g)].flatMap(([, path, names]) =>
    [...names!.matchAll(/“([^”]+)”/g)].map(([, name]) => ({ path: path!, name: name!.replaceAll(/\s+/g, ' ') })),
  );
  expect(cited.length).toBeGreaterThan(moreThan);
  const missing = cited.filter(({ path, name }) => {
    const source = exists(path)
      ? read(path)
          .replaceAll("\\'", "'")
          .replaceAll(/\$\w+|\$\{[^}]+\}/g, '%s')
      : '';
    return !partsOf(name).every((part) => source.includes(part));
  });
  expect(missing).toEqual([]);
});

test('examples in pages are identical to their files', () => {
  const examples = PAGES.flatMap((page) =>
    [...read(page).matchAll(/^<!-- (\S+) -->\n\n```\w+\n(.*?)^```$/gms)].map(([, path, code]) => ({
      page,
      path: path!,
      code: code!,
    })),
  );
  // The pages only name webhook.ts and webhook.py, which the packages contain.
  expect(examples.map(({ path }) => path)).toEqual(
    expect.arrayContaining(find('clients/*/examples/*.{ts,py}').filter((path) => !path.includes('/webhook.'))),
  );
  for (const { page, path, code } of examples) expect(code, `${page} shows ${path}`).toBe(read(path));
});

/** Returns the source of a service, including all modules of kit that it imports, directly or indirectly. */
function sourceOf(service: string): string {
  const seen = new Set<string>();
  const visit = (path: string): string => {
    if (seen.has(path)) return '';
    seen.add(path);
    const text = read(path);
    const imports = [...text.matchAll(/from '(@crs\/kit\/[^']+|\.[^']+)'/g)].map(([, target]) =>
      target!.startsWith('.') ? join(dirname(path), target!) : target!.replace('@crs/kit/', 'packages/kit/src/') + '.ts',
    );
    return [text, ...imports.filter(exists).map(visit)].join('\n');
  };
  return ['main', 'migrate']
    .map((name) => `services/${service}/src/${name}.ts`)
    .filter(exists)
    .map(visit)
    .join('\n');
}

describe.each(SERVICES)('the README of %s', (service) => {
  const readme = read(`services/${service}/README.md`);

  test('names every RPC', () => {
    const missing = find(`proto/crs/${service}/v1/*.proto`).flatMap((path) =>
      [...read(path).matchAll(/service (\w+) \{([^}]*(?:\{\}[^}]*)*)\}/g)].flatMap(([, name, body]) =>
        readme.includes(`\`${name}.*\``)
          ? []
          : [...body!.matchAll(/rpc (\w+)/g)].map(([, rpc]) => rpc!).filter((rpc) => !new RegExp(`\\b${rpc}\\b`).test(readme)),
      ),
    );
    expect(missing).toEqual([]);
  });

  test('names every setting that the service reads, or links to a section that does', () => {
    const linked = new Set([...readme.matchAll(/\]\(\.\.\/README\.md#([^)]+)\)/g)].map(([, heading]) => heading));
    const sections = read('services/README.md')
      .split(/^## /m)
      .filter((section) => linked.has(anchor(section.split('\n', 1)[0]!)));
    const named = [readme, ...sections].join('\n');
    const settings = new Set(sourceOf(service).match(/\b(?:CRS_[A-Z_]+[A-Z]|DATABASE_URL|REDIS_URL|MIGRATE_DATABASE_URL)\b/g));
    expect([...settings].filter((name) => !new RegExp(`\\b${name}\\b`).test(named))).toEqual([]);
  });
});
