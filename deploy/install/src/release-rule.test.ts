import { expect, it } from 'vitest';
import { refusalOf, type Release } from './release-rule.ts';

/** Releases in the order of their installation. A name with `?` began, and was never finished. */
const known = (...versions: string[]): Release[] =>
  versions.map((version, index) => ({
    version: version.replace('?', ''),
    installedAt: version.endsWith('?') ? null : new Date(index * 1000),
  }));
const outcome = (version: string, ...versions: string[]) => refusalOf(version, known(...versions));

it.each([
  ['the first one', '0.4.2', []],
  ['itself', '0.4.2', ['0.4.2']],
  ['a patch', '0.4.9', ['0.4.2']],
  ['the patch before', '0.4.0', ['0.4.2']],
  ['the next minor version', '0.5.7', ['0.4.2']],
  ['the first one of the next major version', '1.0.0', ['0.9.1']],
  ['the minor version before', '0.4.0', ['0.4.2', '0.5.0']],
  ['the minor version before, which was never here', '0.4.0', ['0.5.0']],
  ['the major version before', '0.9.1', ['0.9.0', '1.0.0']],
  ['a candidate', '0.5.0-rc.1', ['0.4.2']],
  ['the next one after an upgrade that did not finish', '0.5.0', ['0.4.2', '0.5.0?']],
  ['any after a first installation that did not finish', '0.9.0', ['0.4.2?']],
  ['10 after 9', '0.10.0', ['0.9.0']],
])('a version may follow: %s', (_what, version, versions) => {
  expect(outcome(version, ...versions)).toBeUndefined();
});

it.each([
  ['a minor version is skipped', '0.6.0', ['0.4.2'], 'Install the newest 0.5.x first'],
  ['the first minor version of a major version is skipped', '1.1.0', ['0.9.0'], 'Install the newest 1.0.x first'],
  ['a major version is skipped', '2.0.0', ['0.9.0'], 'Install the newest 1.0.x first'],
  ['the one between did not finish', '0.6.0', ['0.4.2', '0.5.0?'], "can't follow 0.4.2"],
  ['the pods are of the version before', '0.6.0', ['0.5.0', '0.4.2'], "can't follow 0.4.2"],
  ['it goes back by two', '0.4.2', ['0.4.2', '0.5.0', '0.6.0'], 'only 0.6 and the minor version before it'],
  ['it goes back by two, of which the last did not finish', '0.4.2', ['0.4.2', '0.5.0', '0.6.0?'], 'schema is that of 0.6.0'],
  ['it goes back past the end of a major version', '0.8.0', ['0.9.0', '1.0.0'], 'schema is that of 1.0.0'],
])('a version is refused: %s', (_what, version, versions, words) => {
  expect(outcome(version, ...versions)).toContain(words);
});
