/** Finds values in JSON text without parsing them, so that a copy keeps them exactly as they were sent. The text must be valid JSON. */

/** Returns the JSON text of a member of each object in the array `data`; undefined for an object without it. @param nameOf names the member */
export function rawMembers(text: string, nameOf: (index: number) => string): (string | undefined)[] {
  const data = member(text, start(text, 0), 'data');
  return data === undefined ? [] : elements(text, data).map((at, index) => slice(text, member(text, at, nameOf(index))));
}

const slice = (text: string, at: number | undefined) => (at === undefined ? undefined : text.slice(at, end(text, at)));

/** Returns the position of the value of a member. Of repeated keys the last one counts, as for `JSON.parse`. */
function member(text: string, object: number, key: string): number | undefined {
  let found: number | undefined;
  for (const at of elements(text, object)) {
    const keyEnd = end(text, at);
    if (JSON.parse(text.slice(at, keyEnd)) === key) found = start(text, text.indexOf(':', keyEnd) + 1);
  }
  return found;
}

/** Returns the position of each element of an array, or of each key of an object. */
function elements(text: string, container: number): number[] {
  const isObject = text[container] === '{';
  const found: number[] = [];
  let at = start(text, container + 1);
  while (text[at] !== ']' && text[at] !== '}') {
    found.push(at);
    const value = isObject ? start(text, text.indexOf(':', end(text, at)) + 1) : at;
    at = start(text, end(text, value));
    if (text[at] === ',') at = start(text, at + 1);
  }
  return found;
}

/** Skips white space from `at` on. */
function start(text: string, at: number): number {
  while (' \n\r\t'.includes(text.charAt(at)) && at < text.length) at++;
  return at;
}

/** Returns the position after the value that begins at `at`. */
function end(text: string, at: number): number {
  if (text[at] === '"') return endOfString(text, at);
  if (text[at] !== '{' && text[at] !== '[') return search(text, /[,\]}\s]|$/g, at);
  let depth = 0;
  for (let next = at; ; next = search(text, /["{}[\]]/g, next)) {
    const character = text[next];
    if (character === '"') {
      next = endOfString(text, next);
      continue;
    }
    depth += character === '{' || character === '[' ? 1 : -1;
    next++;
    if (depth === 0) return next;
  }
}

function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); ; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (text[first - 1] === '\\') first--;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
}

function search(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)!.index;
}
