import { html, type Html } from '@crs/kit/http/html';
import type { OAuthScope } from '@crs/kit/rpc/scopes';
import { TICK } from './icons.ts';

/** Describes to users what each scope lets an assistant read. */
export const SCOPE_WORDS: Record<OAuthScope, { title: string; detail: string }> = {
  'calls:read': {
    title: 'Calls',
    detail:
      'Calls that you conducted and calls of your projects: interviewees, summaries, key takeaways, questions and answers, transcripts, costs, and your own notes.',
  },
  'projects:read': {
    title: 'Projects',
    detail: 'Projects that you created, lead or are a member of: names, summaries, states and segments.',
  },
  'entities:read': {
    title: 'Companies and products',
    detail: 'Companies and products mentioned in the calls of your projects: names, descriptions, categories and competitors.',
  },
};

export function scopeList(scopes: readonly OAuthScope[]): Html {
  return html`<ul class="scopes">
    ${scopes.map((scope) => {
      const { title, detail } = SCOPE_WORDS[scope];
      return html`<li>
        ${TICK}
        <p><strong>${title}</strong> <span class="muted">${detail}</span></p>
      </li>`;
    })}
  </ul>`;
}
