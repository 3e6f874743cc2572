import { html } from '@remix-run/html-template';

/** The icon of the docs page. */
export const BRAND = html`<svg width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
  <rect width="32" height="32" rx="8" fill="#2f5bea" />
  <path d="M8 9h16v11H14l-4 4v-4H8z" fill="#fff" />
  <path d="M11 13h10M11 16.5h6" stroke="#2f5bea" stroke-width="1.6" stroke-linecap="round" />
</svg>`;

const line = (path: string, size = 20) =>
  html`<svg
    width="${size}"
    height="${size}"
    viewBox="0 0 20 20"
    fill="none"
    stroke="currentColor"
    stroke-width="1.7"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d="${path}" />
  </svg>`;

export const WARNING = line('M10 3 2.2 16.5h15.6L10 3Zm0 5v3.8m0 2.4v.1');
export const INFORMATION = line('M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15Zm0 6.7v4.3m0-7v.1');
export const TICK = line('m4.5 10.5 3.7 3.7 7.3-8');
export const ARROW = line('M3 10h14m-4-4 4 4-4 4');
/** Any assistant: whose picture a client calls its own nobody has checked. */
export const ASSISTANT = line('M10 2.5 11.8 8.2 17.5 10l-5.7 1.8L10 17.5l-1.8-5.7L2.5 10l5.7-1.8L10 2.5Z', 24);
