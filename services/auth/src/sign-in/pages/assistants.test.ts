import { expect, it } from 'vitest';
import { elementsOf } from './_elements.ts';
import { connections, pages } from '../../../test/_pages.ts';
import { assistantsPage } from './assistants.ts';
import { connectionsPage } from './connections.ts';

const all = (page: string, tag: string) => elementsOf(page).filter((element) => element.tag === tag);
const hrefs = (page: string) => all(page, 'a').map(({ attributes }) => attributes['href']);

it('the page for people who use assistants says how to connect, what an assistant sees and how to disconnect', () => {
  const page = pages['assistants']!();
  expect(all(page, 'h2').map(({ text }) => text)).toEqual([
    'Connect an assistant',
    'What it sees',
    'What to ask',
    'Disconnect an assistant',
  ]);
  expect(all(page, 'h3').map(({ text }) => text)).toEqual(['Claude', 'ChatGPT', 'Then sign in']);
  expect(elementsOf(page)[0]!.text).toContain(connections.address);
  expect(all(page, 'a').map(({ text }) => text)).toEqual(['Add to Cursor', 'Add to VS Code', 'Your connections']);
});

it('the page for people who use assistants and the connections page link to each other', () => {
  expect(hrefs(pages['assistants']!())).toContain('/connections');
  for (const shown of [connections, { ...connections, connections: [] }]) expect(hrefs(connectionsPage(shown))).toEqual(['/']);
});

it.each(['https://tools.example.com/mcp', 'http://127.0.0.1:8081/mcp', 'https://bücher.example/a?b=c&d="e"/mcp'])(
  'the page for people who use assistants has links that install the server %s in Cursor and VS Code',
  (address) => {
    const [cursor, vsCode] = hrefs(assistantsPage({ address }));
    const { protocol, host, pathname, searchParams } = new URL(cursor!);
    expect([protocol, host, pathname]).toEqual(['cursor:', 'anysphere.cursor-deeplink', '/mcp/install']);
    expect(searchParams.get('name')).toBe('call-research');
    expect(JSON.parse(Buffer.from(searchParams.get('config')!, 'base64').toString())).toEqual({ url: address });
    const [path, config] = vsCode!.split('?');
    expect(path).toBe('vscode:mcp/install');
    expect(JSON.parse(decodeURIComponent(config!))).toEqual({ name: 'call-research', type: 'http', url: address });
  },
);
