/** The layout of all pages. Pages hold no scripts, and `html` escapes all untrusted text. */
import { readFileSync } from 'node:fs';
import { html, raw, type Html } from '@crs/kit/http/html';
import { BRAND } from './icons.ts';

export const STYLE = readFileSync(new URL('./style.css', import.meta.url), 'utf8');

export const CSRF_FIELD = 'csrf';

const TAB_ICON = `data:image/svg+xml,${encodeURIComponent(String(BRAND).replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" '))}`;

interface Layout {
  title: string;
  main: Html;
  /** Narrow for a few fields, medium for text, wide for lists. */
  width?: 'narrow' | 'medium' | 'wide';
  /** Further elements of the page's head. */
  head?: Html;
}

export function layout({ title, main, width = 'narrow', head }: Layout): string {
  // Unescaped, because browsers don't decode escapes in <style>, and the policy's hash covers exactly these bytes.
  const style = raw(`<style>${STYLE}</style>`);
  return String(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="robots" content="noindex" />
          <title>${title} · Call Research Service</title>
          <link rel="icon" href="${TAB_ICON}" type="image/svg+xml" />
          ${head} ${style}
        </head>
        <body>
          <header class="${width}">${BRAND}Call Research Service</header>
          <main class="${width}">${main}</main>
        </body>
      </html>`,
  );
}

export function csrfField(token: string): Html {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${token}" />`;
}
