/** The rights of an API key, in the order in which they are shown. They are fixed when the key is created. */
export const KEY_RIGHTS = ['read', 'write', 'ingest', 'delete'] as const;
export type KeyRight = (typeof KEY_RIGHTS)[number];
