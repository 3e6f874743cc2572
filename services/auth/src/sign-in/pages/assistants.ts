import { html } from '@crs/kit/http/html';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { layout } from './layout.ts';
import { scopeList } from './scopes.ts';

/** The server's name in the settings of an editor. */
const SERVER_NAME = 'call-research';

/** Tells users what an assistant sees, how to connect it and how to disconnect it. @param address the MCP server's URL */
export function assistantsPage({ address }: { address: string }): string {
  const main = html`<div class="stack">
    <div class="stack close">
      <h1>Your assistant can read your research calls</h1>
      <p class="muted">
        Claude, ChatGPT, your editor and other assistants that speak MCP read here with your rights. They can’t change anything.
      </p>
    </div>
    <section class="card stack" aria-labelledby="connect">
      <h2 id="connect">Connect an assistant</h2>
      <p>Add this address to your assistant, as a custom connector or MCP server:</p>
      <code class="address">${address}</code>
      <div class="buttons">
        <a class="button" href="${cursorLink(address)}">Add to Cursor</a>
        <a class="button" href="${vsCodeLink(address)}">Add to VS Code</a>
      </div>
      <div class="stack close">
        <h3>Claude</h3>
        <ol>
          <li>Open <strong>Customize</strong>, then <strong>Connectors</strong>.</li>
          <li>Select <strong>+</strong>, then <strong>Add custom connector</strong>.</li>
          <li>Enter a name and the address, select <strong>Add</strong>, then <strong>Connect</strong>.</li>
        </ol>
        <p class="small muted">
          On a Team or Enterprise plan, an owner first adds the connector under <strong>Organization settings</strong>,
          <strong>Connectors</strong>. You then find it in step 1, and only connect it.
        </p>
      </div>
      <div class="stack close">
        <h3>ChatGPT</h3>
        <ol>
          <li>On the web, open <strong>Plugins</strong>.</li>
          <li>Select <strong>+</strong>, then <strong>Add custom MCP server</strong>.</li>
          <li>Enter a name, the address as <strong>Server URL</strong>, and <strong>OAuth</strong> as authentication.</li>
          <li>Confirm the warning, select <strong>Create as a plugin</strong>, and install the plugin.</li>
        </ol>
        <p class="small muted">
          If ChatGPT doesn’t offer this, your workspace’s administrator hasn’t permitted custom MCP servers.
        </p>
      </div>
      <div class="stack close">
        <h3>Then sign in</h3>
        <p>
          A browser opens. Sign in with the e-mail address and password of this service, or through your organization. Then you
          see who asks, what it will be able to read, and where the answer goes. You stay connected for up to a year, and not
          longer than 60 days without use.
        </p>
      </div>
    </section>
    <section class="card stack" aria-labelledby="sees">
      <h2 id="sees">What it sees</h2>
      ${scopeList(OAUTH_SCOPES)}
      <p>
        Names are shown as recorded, never anonymized. An assistant doesn’t see other people’s notes, projects that you don’t see,
        or other organizations. Where you lose access to a project, the assistant loses it at once.
      </p>
      <p class="small muted">
        The maker of the assistant decides how it uses the answers. Treat it like a colleague to whom you forward calls.
      </p>
    </section>
    <section class="card stack" aria-labelledby="ask">
      <h2 id="ask">What to ask</h2>
      <p>
        “Which projects do I lead?” “Summarize the calls of project Boxes from March.” “Which competitors were recognized in
        project Boxes?”
      </p>
      <p>
        It finds calls by project, date, state, rating, cost, country, employer, job title, segment and source. It doesn’t search
        in texts: have it list calls first, then read single ones.
      </p>
    </section>
    <section class="card stack" aria-labelledby="disconnect">
      <h2 id="disconnect">Disconnect an assistant</h2>
      <p>The page of your connections lists your assistants. Each can be disconnected there, within a second.</p>
      <a class="button" href="/connections">Your connections</a>
    </section>
  </div>`;
  return layout({ title: 'Assistants', main, width: 'wide' });
}

/** See https://cursor.com/docs/mcp/install-links. */
function cursorLink(url: string): string {
  const config = Buffer.from(JSON.stringify({ url })).toString('base64');
  return `cursor://anysphere.cursor-deeplink/mcp/install?${new URLSearchParams({ name: SERVER_NAME, config }).toString()}`;
}

/** See https://code.visualstudio.com/api/extension-guides/ai/mcp. */
function vsCodeLink(url: string): string {
  return `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: SERVER_NAME, type: 'http', url }))}`;
}
