/** The properties of a call's import line that may hold people. A property without a value is absent. */
export interface Line {
  expert?: { name?: string; organization?: string; [property: string]: string | undefined };
  anonymized_name?: string;
  participants?: LineParticipant[];
  transcript?: LineTranscript;
  redacted_transcript?: LineTranscript;
}

export interface LineParticipant {
  name?: string;
  role?: string;
  email?: string;
}

export type LineTranscript = string | LineSegment[];

export interface LineSegment {
  speaker?: string;
  start_seconds?: number;
  text: string;
}
