// Turns pnpm's software bill of materials (SBOM) into the image's: adds Node.js, sets the version, and removes packages that aren't in the image.
// The output is reproducible: nothing in it depends on when it is built.
//   node sbom.mjs IN OUT PACKAGES VERSION SECONDS        PACKAGES is the image's directory .pnpm
// Debian's packages are left out: scanners read them from /var/lib/dpkg/status.d of the base image.
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [input, output, packages, version, seconds] = process.argv.slice(2);
const { $schema, serialNumber: _, ...bill } = JSON.parse(readFileSync(input, 'utf8'));
const node = process.versions.node;
const nodeRef = `pkg:generic/node@${node}`;
bill.metadata.timestamp = new Date(Number(seconds) * 1000).toISOString();
Object.assign(bill.metadata.component, { name: 'call-research', version, purl: undefined, licenses: undefined });
bill.components.push({
  type: 'platform',
  name: 'node',
  version: node,
  'bom-ref': nodeRef,
  purl: nodeRef,
  cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
});
// The image is listed in place of the workspace's packages, with their dependencies. (pnpm lists those either at the packages or at the root.)
const root = bill.metadata.component['bom-ref'];
const isOurs = (ref) => ref === root || ref.startsWith('pkg:npm/%40crs/');
const direct = bill.dependencies.filter(({ ref }) => isOurs(ref)).flatMap(({ dependsOn }) => dependsOn ?? []);
const inImage = new Set(
  globSync('*/node_modules/{*,@*/*}/package.json', { cwd: packages })
    .map((path) => JSON.parse(readFileSync(join(packages, path), 'utf8')))
    .map(({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`),
);
bill.components = bill.components.filter(
  ({ 'bom-ref': ref, purl }) => !isOurs(ref) && (!purl.startsWith('pkg:npm/') || inImage.has(purl.split('?')[0])),
);
const refs = new Set([root, ...bill.components.map((component) => component['bom-ref'])]);
bill.dependencies = bill.dependencies.filter(({ ref }) => refs.has(ref) && ref !== root);
bill.dependencies.push({ ref: nodeRef }, { ref: root, dependsOn: [...new Set([...direct, nodeRef])] });
for (const each of bill.dependencies) each.dependsOn = each.dependsOn?.filter((ref) => refs.has(ref) && ref !== root);
// pnpm's order varies between runs.
const by = (key) => (a, b) => (key(a) < key(b) ? -1 : 1);
bill.components.sort(by((component) => component['bom-ref']));
bill.dependencies.sort(by(({ ref }) => ref));
for (const { dependsOn } of bill.dependencies) dependsOn?.sort();
const hash = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
const uuid = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join(
  '-',
);
writeFileSync(output, `${JSON.stringify({ $schema, serialNumber: `urn:uuid:${uuid}`, ...bill }, null, 2)}\n`);
