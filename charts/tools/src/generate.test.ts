import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { CHARTS, generate } from './generate.ts';

describe.each(CHARTS)('%s', (chart) => {
  test('its schema and its list of values are those of values.yaml (node charts/tools/src/generate.ts writes them)', async () => {
    for (const [path, text] of await generate(chart)) expect(await readFile(path, 'utf8'), path).toBe(text);
  });

  test('its schema admits nothing unnamed, but for what is Kubernetes own', async () => {
    const [[, text]] = [...(await generate(chart))] as [[string, string]];
    const open: string[] = [];
    const walk = (value: unknown, path: string) => {
      if (typeof value !== 'object' || value === null) return;
      if ('type' in value && value.type === 'object' && !('additionalProperties' in value)) open.push(path);
      if ('additionalProperties' in value && value.additionalProperties === true) open.push(path);
      for (const [key, child] of Object.entries(value)) walk(child, `${path}/${key}`);
    };
    walk(JSON.parse(text), '');
    const kubernetes = ['/definitions/anything', '/properties/defaults/properties/affinity'];
    expect(open.toSorted()).toEqual([...(chart === 'call-research' ? kubernetes : []), '/properties/global'].toSorted());
  });
});
