import { html } from '@crs/kit/http/html';

/** The icon of the docs page. */
export const BRAND = html`<svg width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
  <rect width="32" height="32" rx="8" fill="#2f5bea" />
  <path d="M8 9h16v11H14l-4 4v-4H8z" fill="#fff" />
  <path d="M11 13h10M11 16.5h6" stroke="#2f5bea" stroke-width="1.6" stroke-linecap="round" />
</svg>`;

const line = (path: string) =>
  html`<svg
    width="20"
    height="20"
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
