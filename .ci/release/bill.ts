// Compares an image's bill of materials (SBOM) with the packages in the image. Exit code 1 if they differ.
//   node bill.ts BILL PACKAGES VERSION        PACKAGES is the image's directory .pnpm
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Bill {
  bomFormat: string;
  specVersion: string;
  metadata: { component: { name: string; version: string } };
  components: { name: string; group?: string; version: string; purl: string; licenses?: unknown[]; hashes?: unknown[] }[];
}

const [file, packages, version] = process.argv.slice(2) as [string, string, string];
const bill = JSON.parse(readFileSync(file, 'utf8')) as Bill;
const faults: string[] = [];
const { component } = bill.metadata;
if (bill.bomFormat !== 'CycloneDX') faults.push('It is no CycloneDX.');
if (`${component.name} ${component.version}` !== `call-research ${version}`)
  faults.push(`It describes ${component.name} ${component.version}.`);

const manifests = globSync(['*/node_modules/*/package.json', '*/node_modules/@*/*/package.json'], { cwd: packages });
const installed = new Set(
  manifests
    .map((path) => JSON.parse(readFileSync(join(packages, path), 'utf8')) as { name: string; version: string })
    .map((manifest) => `pkg:npm/${manifest.name.replace('@', '%40')}@${manifest.version}`),
);
const listed = new Set(bill.components.map(({ purl }) => purl.split('?')[0]!).filter((purl) => purl.startsWith('pkg:npm/')));
for (const purl of installed.difference(listed)) faults.push(`It lacks ${purl}.`);
for (const purl of listed.difference(installed)) faults.push(`The image lacks ${purl}.`);
for (const each of bill.components) {
  if (each.purl.startsWith('pkg:npm/') && !each.licenses?.length) faults.push(`${each.purl} has no licence.`);
}

for (const fault of faults) process.stdout.write(`${file}: ${fault}\n`);
process.stdout.write(
  `bill of materials: CycloneDX ${bill.specVersion}, ${bill.components.length} components, ${installed.size} packages in the image, ${faults.length} faults\n`,
);
process.exitCode = faults.length > 0 ? 1 : 0;
