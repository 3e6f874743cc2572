const [QUOTE, BACKSLASH, COMMA] = [...Buffer.from('"\\,')];
const OPENERS = new Set(Buffer.from('[{'));
const CLOSERS = new Set(Buffer.from(']}'));
const SPACES = new Set(Buffer.from(' \t\r\n'));

/**
 * Counts the values in JSON text, including containers but not member names, and measures how deep containers are nested. It needs one pass over the
 * bytes and no memory, so it can guard a parser. For text that isn't JSON, the numbers are meaningless.
 */
export function sizeOfJson(bytes: Uint8Array): { values: number; depth: number } {
  let values = 1;
  let depth = 0;
  let deepest = 0;
  let follows = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (SPACES.has(byte)) continue;
    // A container's first value begins after its opening bracket, unless it is empty. Each comma precedes one more value.
    if (follows && !CLOSERS.has(byte)) values++;
    follows = false;
    if (byte === QUOTE) {
      at++;
      while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    } else if (OPENERS.has(byte)) {
      depth++;
      deepest = Math.max(deepest, depth);
      follows = true;
    } else if (CLOSERS.has(byte)) depth--;
    else if (byte === COMMA) values++;
  }
  return { values, depth: deepest };
}
