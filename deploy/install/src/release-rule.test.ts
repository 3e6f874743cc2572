import { expect, it } from 'vitest';
import { refusalOf, type Release } from './release-rule.ts';

/** Releases in the order of their installation. The installation of a version with `?` began and never finished. */
const releasesOf = (...versions: string[]): Release[] =>
  versions.map((version, index) => ({
    version: version.replace('?', ''),
    installedAt: version.endsWith('?') ? null : new Date(index * 1000),
  }));
const refusalAfter = (version: string, ...versions: string[]) => refusalOf(version, releasesOf(...versions));

it.each([
  ['the first installation', '0.4.2', []],
  ['the same version', '0.4.2', ['0.4.2']],
  ['a later patch', '0.4.9', ['0.4.2']],
  ['an earlier patch', '0.4.0', ['0.4.2']],
  ['the next minor version', '0.5.7', ['0.4.2']],
  ['the first version of the next major version', '1.0.0', ['0.9.1']],
  ['the previous minor version', '0.4.0', ['0.4.2', '0.5.0']],
  ['the previous minor version, although it was never installed', '0.4.0', ['0.5.0']],
  ['the previous major version', '0.9.1', ['0.9.0', '1.0.0']],
  ['a release candidate', '0.5.0-rc.1', ['0.4.2']],
  ['the version whose upgrade did not finish', '0.5.0', ['0.4.2', '0.5.0?']],
  ['any version after a first installation that did not finish', '0.9.0', ['0.4.2?']],
  ['minor version 10 after 9', '0.10.0', ['0.9.0']],
])('refusalOf allows %s', (_what, version, versions) => {
  expect(refusalAfter(version, ...versions)).toBeUndefined();
});

it.each([
  ['a minor version is skipped', '0.6.0', ['0.4.2'], 'Install the newest 0.5.x first'],
  ['the first minor version of a major version is skipped', '1.1.0', ['0.9.0'], 'Install the newest 1.0.x first'],
  ['a major version is skipped', '2.0.0', ['0.9.0'], 'Install the newest 1.0.x first'],
  ['the upgrade to the version between did not finish', '0.6.0', ['0.4.2', '0.5.0?'], "can't follow 0.4.2"],
  ['the last installation went back to the version before', '0.6.0', ['0.5.0', '0.4.2'], "can't follow 0.4.2"],
  ['it is two minor versions back', '0.4.2', ['0.4.2', '0.5.0', '0.6.0'], 'only 0.6 and the minor version before it'],
  [
    'it is two minor versions back from an upgrade that did not finish',
    '0.4.2',
    ['0.4.2', '0.5.0', '0.6.0?'],
    'schema is that of 0.6.0',
  ],
  ['it is two minor versions back, in the previous major version', '0.8.0', ['0.9.0', '1.0.0'], 'schema is that of 1.0.0'],
])('refusalOf refuses a version if %s', (_what, version, versions, words) => {
  expect(refusalAfter(version, ...versions)).toContain(words);
});
