import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { CHARTS, generate } from './generate.ts';

describe.each(CHARTS)('%s', (chart) => {
  test('the schema is up to date with values.yaml (node charts/tools/src/generate.ts writes it)', async () => {
    const [path, text] = await generate(chart);
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  test('the schema rejects unknown properties, except in objects that Kubernetes defines', async () => {
    const [, text] = await generate(chart);
    const openObjects: string[] = [];
    const visit = (value: unknown, path: string) => {
      if (typeof value !== 'object' || value === null) return;
      if ('type' in value && value.type === 'object' && !('additionalProperties' in value)) openObjects.push(path);
      if ('additionalProperties' in value && value.additionalProperties === true) openObjects.push(path);
      for (const [key, child] of Object.entries(value)) visit(child, `${path}/${key}`);
    };
    visit(JSON.parse(text), '');
    const kubernetes = ['/definitions/anything', '/properties/defaults/properties/affinity'];
    expect(openObjects.toSorted()).toEqual([...(chart === 'call-research' ? kubernetes : []), '/properties/global'].toSorted());
  });
});
