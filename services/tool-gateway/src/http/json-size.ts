const [QUOTE, BACKSLASH, COMMA] = [...Buffer.from('"\\,')];
const OPENERS = new Set(Buffer.from('[{'));
const CLOSERS = new Set(Buffer.from(']}'));
const SPACES = new Set(Buffer.from(' \t\r\n'));

/**
 * The number of values in JSON text, containers included and names of members not, and how deep its containers are nested. It takes one
 * pass over the bytes and no memory, so it can be asked before the text is parsed. For text that isn't JSON the numbers mean nothing.
 */
export function sizeOfJson(bytes: Uint8Array): { values: number; depth: number } {
  let values = 1;
  let depth = 0;
  let deepest = 0;
  let follows = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (SPACES.has(byte)) continue;
    // The first byte in a container that isn't its end begins its first value; each comma announces one more.
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
