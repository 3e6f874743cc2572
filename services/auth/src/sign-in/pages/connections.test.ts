import { describe, expect, it } from 'vitest';
import { elementsOf } from './_elements.ts';
import { connections, ownTokens } from '../../../test/_pages.ts';
import { connectionsPage } from './connections.ts';

const all = (page: string, tag: string) => elementsOf(page).filter((element) => element.tag === tag);
const words = (page: string) => elementsOf(page)[0]!.text.replace(/\s+/g, ' ');

describe('connections', () => {
  it('have a button each that names its assistant, for users of screen readers', () => {
    const buttons = all(connectionsPage(connections), 'button').map(({ text }) => text.trim());
    expect(buttons).toEqual(['Sign out', 'Disconnect Claude', 'Disconnect Visual Studio Code']);
  });

  it('show what is known about the client, and at most three of its hosts', () => {
    const [connection] = connections.connections;
    const shown = (change: object) => words(connectionsPage({ ...connections, connections: [{ ...connection!, ...change }] }));
    expect(shown({})).toContain('Identified by claude.ai');
    expect(shown({ source: { kind: 'operator' } })).toContain('Registered by the operator of this service');
    const self = (...redirectHosts: string[]) => shown({ source: { kind: 'self' }, redirectHosts });
    expect(self('a', 'b', 'c')).toContain('Sends you to a, b, c (name not verified)');
    expect(self('a', 'b', 'c', 'd', 'e')).toContain('Sends you to a, b, c and 2 more (name not verified)');
    expect(shown({ isManaged: true })).toContain('Managed by your organization. If you disconnect it, it comes back');
  });

  it('show when they were made, used and end', () => {
    const times = all(connectionsPage(connections), 'time').map(({ text, attributes }) => [text, attributes['datetime']]);
    expect(times.slice(0, 2)).toEqual([
      ['2 Nov 2026', '2026-11-02T09:14:00.000Z'],
      ['20 Nov 2026', '2026-11-20T16:40:00.000Z'],
    ]);
    expect(words(connectionsPage(connections))).toContain('Last used never');
  });

  it('when there are none, say how to make one', () => {
    expect(words(connectionsPage({ ...connections, connections: [] }))).toContain('https://tools.example.com/mcp');
  });
});

describe('own tokens', () => {
  it('are listed apart from assistants, with a form for another one', () => {
    const page = connectionsPage({ ...connections, ownTokens });
    const buttons = all(page, 'button').map(({ text }) => text.trim());
    expect(buttons.slice(-2)).toEqual(['Revoke Weekly report', 'Make the token']);
    expect(all(page, 'h2').map(({ text }) => text.trim())).toEqual(['Claude', 'Visual Studio Code', 'Your tokens']);
    expect(all(page, 'h3').map(({ text }) => text.trim())).toEqual(['Weekly report']);
  });

  it('need another sign-in after a while', () => {
    const page = connectionsPage({ ...connections, ownTokens: { ...ownTokens, form: undefined } });
    expect(all(page, 'a').map(({ attributes }) => attributes['href'])).toContain('/connections?sign-in=again');
    expect(words(page)).not.toContain('Make the token');
  });

  it('are not mentioned where the organization allows none', () => {
    expect(words(connectionsPage(connections))).not.toContain('tokens');
  });

  it('keep what was typed, and link the error to the fields', () => {
    const form = { ...ownTokens.form!, label: 'Export', scopes: ['calls:read' as const], error: 'That is wrong.' };
    const page = connectionsPage({ ...connections, ownTokens: { ...ownTokens, form } });
    const inputs = all(page, 'input').filter(({ attributes }) => attributes['type'] !== 'hidden');
    const checked = inputs.filter(({ attributes }) => 'checked' in attributes).map(({ attributes }) => attributes['value']);
    expect(checked).toEqual(['calls:read']);
    expect(inputs[0]!.attributes).toMatchObject({ value: 'Export', 'aria-describedby': 'token-error' });
    expect(all(page, 'details')[0]!.attributes).toHaveProperty('open');
    expect(all(page, 'title')[0]!.text).toMatch(/^Error: /);
  });
});
