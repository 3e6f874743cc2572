import { html, type Html } from '@crs/kit/http/html';
import type { OAuthScope } from '@crs/kit/rpc/scopes';
import { TICK } from './icons.ts';
import { csrfField, layout } from './layout.ts';
import { SCOPE_WORDS } from './scopes.ts';

interface Connection {
  grantId: string;
  client: string;
  scopes: readonly string[];
  createdAt: Date;
  expiresAt: Date;
  lastUsedAt: Date | null;
}

export interface Connections {
  csrf: string;
  user: { name: string; email: string; organization: string };
  connections: readonly Connection[];
  /** The result of the previous action, such as "Claude is disconnected." */
  notice?: string | undefined;
  address: string;
}

export function connectionsPage(page: Connections): string {
  const { csrf, user, connections, notice, address } = page;
  const main = html`<div class="stack">
    <div class="stack close">
      <h1>Connected assistants</h1>
      <div class="between small muted">
        <p><bdi>${user.name}</bdi> · <bdi>${user.email}</bdi> · <bdi>${user.organization}</bdi></p>
        <form method="post" action="/connections/sign-out">${csrfField(csrf)}<button class="link">Sign out</button></form>
      </div>
    </div>
    ${
      notice
        ? html`<div class="note success" role="status">
            ${TICK}
            <p><bdi>${notice}</bdi></p>
          </div>`
        : null
    }
    ${
      connections.length === 0
        ? noConnections(address)
        : html`<ul class="connections">
              ${connections.map((connection) => connectionItem(connection, csrf))}
            </ul>
            <p class="small muted">
              Each assistant reads on your behalf and sees only data that you may see. When you disconnect an assistant, it loses
              its access at once. It can ask you again. <a href="/">What an assistant sees</a>
            </p>`
    }
  </div>`;
  return layout({ title: 'Connected assistants', main, width: 'wide' });
}

function connectionItem(connection: Connection, csrf: string): Html {
  const { grantId, client, scopes, createdAt, expiresAt, lastUsedAt } = connection;
  return html`<li>
    <div>
      <h2><bdi>${client}</bdi></h2>
      <dl class="details">
        ${detail('May read', scopes.map((scope) => SCOPE_WORDS[scope as OAuthScope].title).join(', '), html`class="row"`)}
        ${detail('Connected', day(createdAt))} ${detail('Last used', lastUsedAt ? day(lastUsedAt) : 'never')}
        ${detail('Access ends', day(expiresAt))}
      </dl>
    </div>
    <form method="post" action="/connections/revoke">
      ${csrfField(csrf)}
      <input type="hidden" name="id" value="${grantId}" />
      <button class="danger">
        <span>Disconnect<span class="hidden"> ${client}</span></span>
      </button>
    </form>
  </li>`;
}

function detail(term: string, value: Html | string, attributes?: Html): Html {
  return html`<div ${attributes}>
    <dt>${term}</dt>
    <dd>${value}</dd>
  </div>`;
}

function noConnections(address: string): Html {
  return html`<div class="card stack">
    <div class="stack close">
      <h2>No assistant is connected yet</h2>
      <p class="muted">
        Add this address to your assistant as a custom connector or MCP server. Your assistant then brings you back here to sign
        in and to allow access.
      </p>
    </div>
    <code class="address">${address}</code>
    <p class="small"><a href="/">How to connect, and what an assistant sees</a></p>
  </div>`;
}

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

function day(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${DAY.format(at)}</time>`;
}
