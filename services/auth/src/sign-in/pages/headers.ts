import { createHash } from 'node:crypto';
import { STYLE } from './layout.ts';

/**
 * Headers of the pages inside an authorization: sign-in, consent, continue and what went wrong there.
 *
 * `form-action` names this origin only. Chromium holds a form to it through every redirect that follows, also those of the client's own
 * callback, which nobody knows beforehand. So a post is never answered by a redirect out of here, but by `continuePage`.
 *
 * No opener policy: clients open these pages in a popup, and would lose it by one.
 */
export const FLOW_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    // The icon in the tab.
    'img-src data:',
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  // For browsers that don't know `frame-ancestors`.
  'X-Frame-Options': 'DENY',
};

/** Headers of all other pages. */
export const PAGE_HEADERS = { ...FLOW_HEADERS, 'Cross-Origin-Opener-Policy': 'same-origin' };
