import { html, type Html } from '@crs/kit/http/html';

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

export function day(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${DAY.format(at)}</time>`;
}
