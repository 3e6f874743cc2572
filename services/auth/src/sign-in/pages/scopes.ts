/** What each scope lets an assistant read, in the words of people. */
export type Scope = 'calls:read' | 'projects:read' | 'entities:read';

export const SCOPE_WORDS: Record<Scope, { title: string; detail: string }> = {
  'calls:read': {
    title: 'Calls',
    detail:
      'Those you conducted and those of your projects: who was interviewed, summaries, key takeaways, questions and answers, transcripts, costs, and your own notes.',
  },
  'projects:read': {
    title: 'Projects',
    detail: 'Those you created, lead or are a member of: names, summaries, states and segments.',
  },
  'entities:read': {
    title: 'Companies and products',
    detail: 'What was recognized in the calls of your projects: names, descriptions, categories and competitors.',
  },
};
