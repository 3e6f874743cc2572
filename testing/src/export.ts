import type { Connection } from '@crs/crs/connection';
import { exportPages } from '@crs/crs/export';

/** Exports an organization as `crs export` does. */
export async function exportLines({ exporters, operator }: Connection, organization: string): Promise<object[]> {
  const lines: object[] = [];
  const pages = exportPages(async ({ service, page }) => exporters[service].exportRecords(page, await operator(organization)));
  for await (const page of pages) lines.push(...page.lines.map((line) => JSON.parse(Buffer.from(line).toString()) as object));
  return lines;
}
