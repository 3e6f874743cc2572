import { Option, type Command } from 'commander';
import { Failure } from '../failure.ts';
import { escapeControls } from '../output.ts';
import { FORMATS, type Format } from '../convert/formats.ts';

const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** `crs convert`: the transcript of a call record from a file with captions. */
export function convertCommand(program: Command): void {
  program
    .command('convert')
    .description("print the `transcript` of a call's record from a file with captions")
    .argument('<file>', 'file of at most 8 MiB in UTF-8, or - for standard input')
    .addOption(new Option('--from <format>', 'format of the file').choices(FORMATS).makeOptionMandatory())
    .addHelpText(
      'after',
      `
Formats:
  vtt    WebVTT; <v Name> names the speaker
  srt    SubRip, which names no speakers
  zoom   Zoom's WebVTT, in which text starts with the speaker's name; or meeting_saved_closed_caption.txt
  teams  Microsoft Teams' WebVTT

Prints [{"speaker","start_seconds","text"}], at most 20,000 segments, in the order of the file. It needs no connection to the services.

Examples:
  crs convert --from teams meeting.vtt
  crs convert --from zoom GMT20260201-090000_Recording.transcript.vtt > transcript.json
  crs convert --from srt - < call.srt |
    jq -c '{type: "call", organization: "acme", id: "call_1", transcript: .}' | crs import -`,
    )
    .action((file: string, { from }: { from: Format }) => convertFile(file, from));
}

async function convertFile(path: string, format: Format): Promise<void> {
  const [{ convert }, { openSource }] = await Promise.all([import('../convert/transcript.ts'), import('../import/source.ts')]);
  const { chunks } = await openSource(path);
  const segments = convert(format, await readAll(chunks));
  process.stdout.write(`${escapeControls(JSON.stringify(segments))}\n`);
}

async function readAll(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const held: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > MAX_FILE_BYTES)
      throw new Failure('file', 'The file is longer than 8 MiB: split it, or remove what is not captions.');
    held.push(chunk);
  }
  return Buffer.concat(held);
}
