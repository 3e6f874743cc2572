import { html, type Html } from '@crs/kit/http/html';
import type { OAuthScope } from '@crs/kit/rpc/scopes';
import type { ClientSource } from '../clients.ts';
import { day } from './day.ts';
import { TICK } from './icons.ts';
import { csrfField, layout } from './layout.ts';
import { makeToken, type TokenForm } from './own-tokens.ts';
import { SCOPE_WORDS } from './scopes.ts';

/** All grants of one client, or one token. */
export interface Connection {
  /** The id of one of its grants. */
  id: string;
  name: string;
  /** Undefined for a token. */
  source?: ClientSource | undefined;
  /** Where a self-registered client sends its users. */
  redirectHosts: readonly string[];
  /** Whether the organization's directory connects the client. */
  isManaged: boolean;
  /** Number of grants. */
  count: number;
  scopes: readonly string[];
  createdAt: Date;
  expiresAt: Date;
  lastUsedAt: Date | null;
}

export interface Connections {
  csrf: string;
  user: { name: string; email: string; organization: string };
  connections: readonly Connection[];
  /** Undefined: the organization doesn't let its users make tokens. @property form undefined: the sign-in is too long ago */
  ownTokens?: { tokens: readonly Connection[]; form: TokenForm | undefined } | undefined;
  /** The result of the previous action, such as "Claude is disconnected." */
  notice?: string | undefined;
  address: string;
}

export function connectionsPage(page: Connections): string {
  const { csrf, user, connections, ownTokens, notice, address } = page;
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
    ${ownTokens ? tokenSection(ownTokens, csrf) : null}
  </div>`;
  return layout({ title: ownTokens?.form?.error ? 'Error: Connected assistants' : 'Connected assistants', main, width: 'wide' });
}

function tokenSection({ tokens, form }: NonNullable<Connections['ownTokens']>, csrf: string): Html {
  return html`<section class="stack" aria-labelledby="tokens">
    <div class="stack close">
      <h2 id="tokens">Your tokens</h2>
      <p class="small muted">A token lets a script of yours read what you may read, without a sign-in.</p>
    </div>
    ${
      tokens.length === 0
        ? null
        : html`<ul class="connections">
            ${tokens.map((token) => tokenItem(token, csrf))}
          </ul>`
    }
    ${makeToken(csrf, form)}
  </section>`;
}

function connectionItem(connection: Connection, csrf: string): Html {
  const { name, count, createdAt, lastUsedAt, expiresAt, isManaged } = connection;
  return html`<li>
    <div>
      <h2><bdi>${name}</bdi></h2>
      ${
        isManaged
          ? html`<p class="small">
              Managed by your organization. If you disconnect it, it comes back when your organization’s directory next uses it.
            </p>`
          : null
      }
      <dl class="details">
        ${sourceDetail(connection)} ${scopesDetail(connection)}
        ${detail(count > 1 ? 'First connected' : 'Connected', day(createdAt))}
        ${detail('Last used', lastUsedAt ? day(lastUsedAt) : 'never')} ${detail('Access ends', day(expiresAt))}
        ${count > 1 ? detail('Connections', String(count)) : null}
      </dl>
    </div>
    ${revokeForm(connection, csrf, 'Disconnect')}
  </li>`;
}

function tokenItem(token: Connection, csrf: string): Html {
  const { name, createdAt, lastUsedAt, expiresAt } = token;
  return html`<li>
    <div>
      <h3><bdi>${name}</bdi></h3>
      <dl class="details">
        ${scopesDetail(token)} ${detail('Made', day(createdAt))} ${detail('Last used', lastUsedAt ? day(lastUsedAt) : 'never')}
        ${detail('Expires', day(expiresAt))}
      </dl>
    </div>
    ${revokeForm(token, csrf, 'Revoke')}
  </li>`;
}

function revokeForm({ id, name }: Connection, csrf: string, label: string): Html {
  return html`<form method="post" action="/connections/revoke">
    ${csrfField(csrf)}
    <input type="hidden" name="id" value="${id}" />
    <button class="danger">
      <span>${label}<span class="hidden"> ${name}</span></span>
    </button>
  </form>`;
}

/** A client's list of hosts is its own, and may be long. */
const MAX_HOSTS = 3;

function sourceDetail({ source, redirectHosts }: Connection): Html | null {
  switch (source?.kind) {
    case 'operator':
      return detail('Registered by', 'the operator of this service', html`class="row"`);
    case 'document':
      return detail('Identified by', html`<bdi class="clamp">${source.host}</bdi>`, html`class="row"`);
    case 'self': {
      const hosts = redirectHosts
        .slice(0, MAX_HOSTS)
        .map((host, i) => html`${i > 0 ? ', ' : null}<bdi class="clamp">${host}</bdi>`);
      const more = redirectHosts.length - hosts.length;
      const value = html`${hosts}${more > 0 ? ` and ${more} more` : null} <span class="muted">(name not verified)</span>`;
      return detail('Sends you to', value, html`class="row"`);
    }
    default:
      return null;
  }
}

function scopesDetail({ scopes }: Connection): Html {
  const words = scopes.map((scope) => SCOPE_WORDS[scope as OAuthScope].title).join(', ');
  return detail('May read', words, html`class="row"`);
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
