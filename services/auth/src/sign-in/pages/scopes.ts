import type { OAuthScope } from '@crs/kit/rpc/scopes';

/** For people: the data that each scope lets an assistant read. */
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
