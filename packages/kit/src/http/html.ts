/** The template of all pages. It escapes the text in its slots. */
import { html as template, raw } from 'hono/html';

/** A part of a page. A template takes it as it is. */
export type Html = ReturnType<typeof raw>;

/** A template leaves nothing where a slot holds null or undefined, and escapes all text that is not `Html`. */
type Slot = Html | string | number | null | undefined | readonly Slot[];

/** Hono's type also admits promises, which would make the page a promise, and objects, which could claim to be escaped. */
export const html = template as (strings: TemplateStringsArray, ...slots: Slot[]) => Html;
export { raw };
