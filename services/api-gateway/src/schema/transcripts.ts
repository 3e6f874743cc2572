import { z } from 'zod';
import { components } from './common.ts';

const segment = z
  .strictObject({
    speaker: z.string().nullable().describe('Null where not recorded.'),
    start_seconds: z
      .number()
      .min(0)
      .nullable()
      .meta({ description: 'Seconds from the start of the recording. Null where not recorded.', examples: [12.4] }),
    text: z.string().describe('The words.'),
  })
  .describe('The words of one speaker, up to the next speaker.')
  .register(components, { id: 'TranscriptSegment' });

export const transcriptEntry = z
  .strictObject({
    kind: z
      .enum(['verbatim', 'redacted', 'clean'])
      .describe(
        '`verbatim`: word by word. `redacted`: with identifying details taken out, there once `anonymity_status` is `complete`. `clean`: the question-and-answer blocks as text; it also needs `qa_blocks` enabled.',
      ),
    language: z
      .string()
      .nullable()
      .meta({ description: 'Language of the text. Null where not recorded.', examples: ['en'] }),
    text: z
      .string()
      .describe(
        'The whole text. Of a segmented transcript, a line `speaker: text` for each segment; of `clean`, `Q: ...` and `A: ...` lines with an empty line between blocks.',
      ),
    segments: z
      .array(segment)
      .describe('The segments, in order. Empty where the transcript was recorded as plain text, and of `clean`.'),
  })
  .describe('One transcript of the call.')
  .register(components, { id: 'TranscriptEntry' });
