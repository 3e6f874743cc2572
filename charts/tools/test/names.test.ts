import { describe, expect, test } from 'vitest';
import { find, ofKind, render } from '../src/render.ts';

const NAME = 'crs-call-research';
const TRIAL = ['examples/trial.yaml'];
const refusal = (values: object, files = TRIAL) => expect(render({ files, values })).rejects;

describe('names', () => {
  test('consist of release and chart, unless fullnameOverride is set', async () => {
    const nameOf = async (values: object) => ofKind(await render({ files: TRIAL, values }), 'Job')[0].metadata.name;
    expect(await nameOf({})).toBe('crs-call-research-install');
    expect(await nameOf({ fullnameOverride: 'crs' })).toBe('crs-install');
    await refusal({ fullnameOverride: 'a'.repeat(41) }).toThrow('/fullnameOverride');
  });

  test('of images end with the digest if set, else with the tag, else with the version', async () => {
    const imageOf = async (image: object) =>
      find(await render({ files: TRIAL, values: { image } }), 'Deployment', `${NAME}-calls`).spec.template.spec.containers[0]
        .image;
    const digest = `sha256:${'0'.repeat(64)}`;
    expect(await imageOf({})).toBe('call-research:0.1.0');
    expect(await imageOf({ repository: 'r.example/c', tag: '2' })).toBe('r.example/c:2');
    expect(await imageOf({ repository: 'r.example/c', tag: '2', digest })).toBe(`r.example/c@${digest}`);
  });
});
