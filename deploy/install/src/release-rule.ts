/** A version that is installed on a database, or whose installation has begun. */
export interface Release {
  version: string;
  installedAt: Date | null;
}

/**
 * Returns why a version may not be installed; undefined if it may. Upgrades go one minor version at a time, because during an upgrade, N and N+1 run
 * concurrently on the schema of N+1. Patches don't count.
 */
export function refusalOf(version: string, known: readonly Release[]): string | undefined {
  const wanted = parse(version);
  const byMinor = known.map((each) => ({ ...each, minor: parse(each.version) })).toSorted((a, b) => compare(b.minor, a.minor));
  const [schema] = byMinor;
  if (!schema) return undefined;
  if (compare(wanted, schema.minor) < 0) {
    const before = byMinor.find(({ minor }) => compare(minor, schema.minor) < 0);
    const fits = before ? compare(wanted, before.minor) >= 0 : follows(wanted, schema.minor);
    if (fits) return undefined;
    return `Version ${version} can't run on this database, whose schema is that of ${schema.version}: only ${name(schema.minor)} and the minor version before it can. Install one of these, or restore the backup from before the upgrade.`;
  }
  const [running] = byMinor
    .filter(({ installedAt }) => installedAt !== null)
    .toSorted((a, b) => Number(b.installedAt) - Number(a.installedAt));
  if (!running || compare(wanted, running.minor) === 0 || follows(running.minor, wanted)) return undefined;
  const next = wanted[0] === running.minor[0] ? name([wanted[0], running.minor[1] + 1]) : name([running.minor[0] + 1, 0]);
  return `Version ${version} can't follow ${running.version}, because upgrades go one minor version at a time. Install the newest ${next}.x first, wait until its pods have replaced all others, then install ${version}.`;
}

type Minor = readonly [major: number, minor: number];

function parse(version: string): Minor {
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  if (major === undefined) throw new Error(`"${version}" is not a version.`);
  return [Number(major), Number(minor)];
}

function compare(a: Minor, b: Minor): number {
  return a[0] - b[0] || a[1] - b[1];
}

/** Whether `b` is the minor version after `a`. The first minor of a major version follows each of the previous major, whose last minor isn't known here. */
function follows([major, minor]: Minor, b: Minor): boolean {
  return (b[0] === major && b[1] === minor + 1) || (b[0] === major + 1 && b[1] === 0);
}

function name([major, minor]: Minor): string {
  return `${major}.${minor}`;
}
