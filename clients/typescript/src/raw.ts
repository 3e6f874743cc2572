/** Finds values in JSON text without reading them, so that a copy keeps each number and each absent key as it was sent. The text must be valid JSON. */

/** The text of the member `call` of each object in the array `data`, exactly as it was sent; undefined where an object has none. */
export function rawCalls(text: string): (string | undefined)[] {
  const data = member(text, start(text, 0), 'data');
  return data === undefined ? [] : elements(text, data).map((at) => slice(text, member(text, at, 'call')));
}

const slice = (text: string, at: number | undefined) => (at === undefined ? undefined : text.slice(at, end(text, at)));

/** Where the value of the object's member begins. A repeated key counts at its last place, as it does for `JSON.parse`. */
function member(text: string, object: number, key: string): number | undefined {
  let found: number | undefined;
  for (const at of elements(text, object)) {
    const keyEnd = end(text, at);
    if (JSON.parse(text.slice(at, keyEnd)) === key) found = start(text, text.indexOf(':', keyEnd) + 1);
  }
  return found;
}

/** Where each element of an array, or each key of an object, begins. */
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

/** The first place from `at` on that is no white space. */
function start(text: string, at: number): number {
  while (' \n\r\t'.includes(text.charAt(at)) && at < text.length) at++;
  return at;
}

/** The place behind the value that begins at `at`. */
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
