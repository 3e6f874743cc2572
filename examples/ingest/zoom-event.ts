// Stores the transcript of a Zoom cloud recording in a call. Reads Zoom's event `recording.transcript_completed` from standard input:
// start it from your webhook, after that has verified the event's signature, because this program fetches the event's URL.
//   CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 node zoom-event.ts < event.json
// Needs a key with the right `ingest`, and `crs` in the PATH.
import { execFileSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

interface ZoomEvent {
  download_token: string;
  payload: {
    object: {
      uuid: string;
      start_time: string;
      duration: number;
      recording_files: { file_type: string; download_url: string }[];
    };
  };
}

const { CRS_API_KEY: key = '', CRS_BASE_URL: baseUrl = '' } = process.env;
const event = JSON.parse(await text(process.stdin)) as ZoomEvent;
const meeting = event.payload.object;
const file = meeting.recording_files.find(({ file_type: type }) => type === 'TRANSCRIPT');
if (!file) throw new Error('The event has no transcript.');

const download = await fetch(file.download_url, { headers: { Authorization: `Bearer ${event.download_token}` } });
if (!download.ok) throw new Error(`Zoom responded with ${download.status}.`);
const transcript = execFileSync('crs', ['convert', '--from', 'zoom', '-'], {
  input: await download.text(),
  maxBuffer: 64 * 1024 * 1024,
});

// Zoom's ids are base64, which has characters that ids of calls can't have.
const id = `zoom_${Buffer.from(meeting.uuid, 'base64').toString('base64url')}`;
const body = JSON.stringify({
  call_type: 'meeting',
  call_status: 'done',
  created_at: meeting.start_time,
  date: meeting.start_time,
  duration_minutes: meeting.duration,
  source: 'Zoom',
  transcript: JSON.parse(transcript.toString()) as unknown,
});
async function send(method: string): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${baseUrl}/calls/${id}`, { method, headers, body });
    if (attempt === 5 || (response.status !== 429 && response.status < 500)) return response;
    await sleep(1_000 * Number(response.headers.get('Retry-After') ?? attempt));
  }
}

// Zoom may send an event twice. PUT alone would then remove what others have added, such as a summary.
const merged = await send('PATCH');
const response = merged.status === 404 ? await send('PUT') : merged;
const answer = await response.text();
if (!response.ok) throw new Error(`${response.status}: ${answer}`);
console.log(answer);
