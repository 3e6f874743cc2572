import { html, raw } from '@crs/kit/http/html';
import { TITLE } from '../openapi/document.ts';

export interface Addresses {
  /** The origin of the API. */
  publicUrl: string;
  /** The origin of the tool gateway. Undefined: not configured, so nothing links to it. */
  toolsUrl: string | undefined;
}

const ABOUT =
  'Keeps the records of an organization’s research calls: expert interviews and recorded meetings, with summaries, key takeaways, ' +
  'questions and answers, and transcripts.';

/** Renders the page at `/`, which has no scripts. */
export function renderHome({ publicUrl, toolsUrl }: Addresses, { icon, style }: { icon: string; style: string }): string {
  return String(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>${TITLE}</title>
          <link rel="icon" href="${icon}" type="image/svg+xml" />
          ${raw(`<style>${style}</style>`)}
        </head>
        <body>
          <main>
            <h1><img src="${icon}" alt="" width="32" height="32" />${TITLE}</h1>
            <p>${ABOUT} This is its REST API, at <code>${publicUrl}/v1</code>.</p>
            <dl>
              <div>
                <dt><a href="/docs">Documentation</a></dt>
                <dd>
                  Guides, the reference of all requests, and a form to try them. <a href="/docs/guide.md">The guides as text</a>
                </dd>
              </div>
              <div>
                <dt><a href="/v1/openapi.json">OpenAPI document</a></dt>
                <dd>For generators of clients, and for tests. It needs no key.</dd>
              </div>
              ${
                toolsUrl === undefined
                  ? null
                  : html`<div>
                      <dt><a href="${toolsUrl}/">Assistants</a></dt>
                      <dd>
                        Claude, ChatGPT and others read on behalf of one person, by MCP at <code>${toolsUrl}/mcp</code>. The page
                        says how to connect.
                      </dd>
                    </div>`
              }
              <div>
                <dt><a href="/llms.txt">llms.txt</a></dt>
                <dd>The same links for a language model.</dd>
              </div>
            </dl>
          </main>
        </body>
      </html>`,
  );
}

/** Renders `/llms.txt` in the format of llmstxt.org: a heading, a summary, and lists of links. */
export function renderForModels({ publicUrl, toolsUrl }: Addresses): string {
  const tools =
    toolsUrl === undefined
      ? ''
      : `
## Tools for assistants

- [MCP server](${toolsUrl}/mcp): four read-only tools (list_projects, list_calls, get_call, list_entities) for one signed-in person, by Streamable HTTP and OAuth 2.1
- [For people who use assistants](${toolsUrl}/): how to connect, what an assistant sees, how to disconnect
`;
  return `# ${TITLE}

> ${ABOUT}

The REST API is at ${publicUrl}/v1. Each request carries an organization's API key: \`Authorization: Bearer crk_...\`. Responses are JSON. Errors have the shape \`{"error": {"code", "message", "request_id"}}\`, and the message explains what to do.

## Documentation

- [Guides](${publicUrl}/docs/guide.md): first request, reading everything, keeping up with changes, fields, idempotency, every error, limits, versions; in Markdown
- [OpenAPI 3.1 document](${publicUrl}/v1/openapi.json): every path, parameter, schema and example
- [Documentation for people](${publicUrl}/docs): the same in a browser; it needs JavaScript
${tools}`;
}
