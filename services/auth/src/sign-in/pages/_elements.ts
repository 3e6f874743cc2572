import { parse, type DefaultTreeAdapterTypes as Tree } from 'parse5';

export interface Element {
  tag: string;
  attributes: Record<string, string>;
  text: string;
  elements: Element[];
}

/** Parses a page as browsers do. @returns all elements at all depths, in document order */
export function elementsOf(page: string): Element[] {
  return inside(parse(page)).elements;
}

function inside(node: Tree.Node): { text: string; elements: Element[] } {
  if (node.nodeName === '#text') return { text: (node as Tree.TextNode).value, elements: [] };
  const children = 'childNodes' in node ? node.childNodes.map(inside) : [];
  const text = children.map((child) => child.text).join('');
  const elements = children.flatMap((child) => child.elements);
  if (!('tagName' in node)) return { text, elements };
  const attributes = Object.fromEntries(node.attrs.map(({ name, value }) => [name, value]));
  return { text, elements: [{ tag: node.tagName, attributes, text, elements }, ...elements] };
}
