import { html } from '@crs/kit/http/html';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { layout } from './layout.ts';
import { scopeList } from './scopes.ts';

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
      <p>
        A browser opens. Sign in with the e-mail address and password of this service, or through your organization. Then you see
        who asks, what it will be able to read, and where the answer goes. You stay connected for up to a year, and not longer
        than 60 days without use.
      </p>
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
