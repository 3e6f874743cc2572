import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { STYLE } from './layout.ts';

/**
 * Headers of the pages of an authorization: sign-in, consent, continue and error.
 *
 * `form-action` allows this origin only. Chromium applies it to every redirect after a form, including the client's, which can't be known
 * beforehand. So the response to a form is `continuePage`, never a redirect to another origin.
 *
 * There is no `Cross-Origin-Opener-Policy`, because it would clear `window.opener`. Web clients that open these pages in a popup use it to get the result. `consentPage` prevents clickjacking through the opener instead.
 */
export const FLOW_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    // For the icon in the tab.
    'img-src data:',
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  // For browsers without `frame-ancestors`.
  'X-Frame-Options': 'DENY',
};

/** Headers of all other pages. */
export const PAGE_HEADERS = { ...FLOW_HEADERS, 'Cross-Origin-Opener-Policy': 'same-origin' };

export function sendPage(response: Response, headers: typeof FLOW_HEADERS, page: string): void {
  response.set(headers).type('html').send(page);
}
