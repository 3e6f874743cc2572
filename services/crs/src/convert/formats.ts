/** The formats that `crs convert` reads. Apart from their readers, so that help appears at once. */
export const FORMATS = ['vtt', 'srt', 'zoom', 'teams'] as const;
export type Format = (typeof FORMATS)[number];
