/** Wire types of protobuf. */
const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5];

/**
 * Whether a protobuf message has at most this many fields, nested ones included. gRPC decodes a message before any handler sees it, and decoding
 * 16 MiB of empty nested messages takes seconds and hundreds of megabytes. Malformed messages are left to the decoder.
 */
export function hasAtMost(fields: number, bytes: Uint8Array): boolean {
  let left = fields;
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value >>> 0;
  };
  const fits = (end: number, isInner: boolean): boolean => {
    while (at < end) {
      if (left-- === 0) return false;
      const type = varint() & 7;
      if (type === VARINT) varint();
      else if (type === FIXED64) at += 8;
      else if (type === FIXED32) at += 4;
      else if (type === BYTES) {
        const length = varint();
        const fieldEnd = Math.min(at + length, end);
        if (!isInner && !fits(fieldEnd, true)) return false;
        at = fieldEnd;
      }
    }
    return true;
  };
  return fits(bytes.length, false);
}
