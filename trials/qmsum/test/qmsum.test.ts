import { describe, expect, test } from 'vitest';
import { expectedTranscript, importRecords, mapMeeting, QMSUM_PROJECT_ID, type Meeting } from '../qmsum.ts';

const meeting: Meeting = {
  topic_list: [
    { topic: 'Where the kettle goes', relevant_text_span: [['0', '2']] },
    {
      topic: 'Who pays for tea',
      relevant_text_span: [
        ['2', '3'],
        ['5', '6'],
      ],
    },
  ],
  general_query_list: [{ query: 'Summarize the whole meeting.', answer: 'The kettle moves and everybody pays. ' }],
  specific_query_list: [
    { query: 'Where does the kettle go?', answer: 'By the window.', relevant_text_span: [['1', '2']] },
    {
      query: 'Who pays?',
      answer: 'Everybody.',
      relevant_text_span: [
        ['2', '2'],
        ['5', '6'],
      ],
    },
    { query: 'Equally near to both?', answer: 'The first one counts.', relevant_text_span: [['2', '2']] },
    { query: 'What else?', answer: 'Nothing.', relevant_text_span: [['4', '4']] },
  ],
  meeting_transcripts: [
    { speaker: 'Chair (Ms. Søby)', content: 'Shall we {disfmarker} uh , start ?' },
    { speaker: 'Grad A', content: ' By the window . ' },
    { speaker: 'Chair (Ms. Søby)', content: '' },
    { speaker: 'Grad A', content: '{vocalsound} Tea is dear : two pounds .' },
    { speaker: 'PhD B', content: 'Anything else ?' },
    { speaker: 'Grad A', content: 'We all pay .' },
    { speaker: 'Chair (Ms. Søby)', content: 'Agreed .' },
  ],
};

describe('mapMeeting', () => {
  test('takes over every turn word for word', () => {
    const { transcript } = mapMeeting(meeting, 0, 'acme');
    expect(transcript).toHaveLength(7);
    expect(transcript[1]).toEqual({ speaker: 'Grad A', start_seconds: null, text: ' By the window . ' });
    expect(transcript[2]).toEqual({ speaker: 'Chair (Ms. Søby)', start_seconds: null, text: '' });
    expect(transcript[3]?.text).toBe('{vocalsound} Tea is dear : two pounds .');
  });

  test('puts each question under the topic with which it shares most turns', () => {
    expect(mapMeeting(meeting, 0, 'acme').qa_blocks).toEqual([
      { question: 'Where does the kettle go?', answer: 'By the window.', section: 'Where the kettle goes' },
      { question: 'Who pays?', answer: 'Everybody.', section: 'Who pays for tea' },
      { question: 'Equally near to both?', answer: 'The first one counts.', section: 'Where the kettle goes' },
      { question: 'What else?', answer: 'Nothing.', section: null },
    ]);
  });

  test('lists each speaker once, in order of appearance', () => {
    expect(mapMeeting(meeting, 0, 'acme').participants.map(({ name }) => name)).toEqual(['Chair (Ms. Søby)', 'Grad A', 'PhD B']);
  });

  test('makes topics the takeaways and the general answer the summary', () => {
    expect(mapMeeting(meeting, 0, 'acme')).toMatchObject({
      ktas: '- Where the kettle goes\n- Who pays for tea',
      kta_approval_status: 'approved',
      summary: 'The kettle moves and everybody pays. ',
    });
  });

  test('heads several general answers with their questions', () => {
    const general = [
      { query: 'Summarize it.', answer: 'Tea.' },
      { query: 'What was decided?', answer: 'All pay.' },
    ];
    expect(mapMeeting({ ...meeting, general_query_list: general }, 0, 'acme').summary).toBe(
      '## Summarize it.\n\nTea.\n\n## What was decided?\n\nAll pay.',
    );
  });

  test('maps a meeting that is only a transcript', () => {
    const { meeting_transcripts } = meeting;
    expect(mapMeeting({ meeting_transcripts }, 0, 'acme')).toMatchObject({
      ktas: null,
      kta_approval_status: null,
      summary: null,
      qa_blocks: [],
    });
  });

  test('derives id and instants from the position', () => {
    expect(mapMeeting(meeting, 34, 'acme')).toMatchObject({
      organization: 'acme',
      id: 'qmsum-35',
      project_id: QMSUM_PROJECT_ID,
      conducted_by: 'researcher@acme.example',
      date: '2026-02-08T09:00:00.000Z',
      created_at: '2026-02-08T10:30:00.000Z',
    });
    expect(mapMeeting(meeting, 34, 'acme')).toEqual(mapMeeting(meeting, 34, 'acme'));
  });
});

test('expectedTranscript flattens the turns to lines', () => {
  expect(expectedTranscript({ meeting_transcripts: meeting.meeting_transcripts.slice(0, 3) })).toEqual({
    kind: 'verbatim',
    language: 'en',
    text: 'Chair (Ms. Søby): Shall we {disfmarker} uh , start ?\nGrad A:  By the window . \nChair (Ms. Søby): ',
    segments: [
      { speaker: 'Chair (Ms. Søby)', start_seconds: null, text: 'Shall we {disfmarker} uh , start ?' },
      { speaker: 'Grad A', start_seconds: null, text: ' By the window . ' },
      { speaker: 'Chair (Ms. Søby)', start_seconds: null, text: '' },
    ],
  });
});

test('importRecords names nothing before it is defined', async () => {
  const records = await Array.fromAsync(importRecords([meeting, meeting], 'acme'));
  expect(records.map(({ type }) => type)).toEqual(['organization', 'user', 'project', 'call', 'call']);
  expect(records.map((record) => record.organization ?? record.id)).toEqual(Array(5).fill('acme'));
  expect(records.slice(3).map(({ id }) => id)).toEqual(['qmsum-01', 'qmsum-02']);
});
