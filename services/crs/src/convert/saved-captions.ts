import { wrongLine } from './cues.ts';
import { readCueText } from './cue-text.ts';
import type { Segment } from './transcript.ts';

/** `[Ann Example] 14:31:02`: who speaks, and the time of day. */
const HEAD = /^\[(.{1,200})\] (\d{1,2}):([0-5]\d):([0-5]\d)$/;
const DAY = 86_400;

/** Whether this is `meeting_saved_closed_caption.txt`, which Zoom saves on the computer of a participant. */
export function isSavedCaptions(lines: readonly string[]): boolean {
  return lines.find((line) => line !== '')?.startsWith('[') ?? false;
}

/** Reads captions that Zoom saved. The first one starts at 0, because the file doesn't say when the meeting began. */
export function* readSavedCaptions(lines: readonly string[]): Generator<Segment> {
  let first: number | undefined;
  let current: { speaker: string; start_seconds: number } | undefined;
  for (const [index, line] of lines.entries()) {
    const [, speaker, ...time] = HEAD.exec(line) ?? [];
    if (speaker !== undefined) {
      const [hours, minutes, seconds] = time.map(Number) as [number, number, number];
      const at = (hours * 60 + minutes) * 60 + seconds;
      first ??= at;
      // A meeting may go on after midnight.
      current = { speaker, start_seconds: (at - first + DAY) % DAY };
    } else if (current) {
      for (const { text } of readCueText(line)) yield { ...current, text };
    } else if (line !== '') {
      throw wrongLine(index, 'must be a speaker and a time, like [Ann Example] 14:31:02');
    }
  }
}
