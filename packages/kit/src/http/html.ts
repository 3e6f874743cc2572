/** The template tag of all HTML pages. It escapes the text in its slots. */
import { html as template, raw } from 'hono/html';

/** A fragment of a page, which templates insert without escaping. */
export type Html = ReturnType<typeof raw>;

/** A value in a template. Null and undefined are omitted; text that isn't `Html` is escaped. */
type Slot = Html | string | number | null | undefined | readonly Slot[];

/** Hono's own type also accepts promises, which would make the page a promise, and objects, which could claim to be escaped. */
export const html = template as (strings: TemplateStringsArray, ...slots: Slot[]) => Html;
export { raw };
