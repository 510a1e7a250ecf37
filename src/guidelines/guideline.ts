/**
 * The guidelines of a project: what a manual's publication says, in the few kinds of blocks that every tool shows.
 * Nothing that runs has a kind here. `to-guideline.ts` makes them, `to-html.ts` and `to-markdown.ts` write them.
 */

export type Block =
  | { of: 'paragraph'; inlines: Inline[] }
  | { of: 'heading'; level: number; inlines: Inline[] }
  | { of: 'list'; isOrdered: boolean; items: Block[][] }
  | { of: 'quote'; blocks: Block[] }
  | { of: 'code'; text: string }
  | { of: 'rule' }
  /** The first row is the head. Every row has as many cells. */
  | { of: 'table'; rows: Inline[][][] };

export type Inline = TextRun | { of: 'break' };

export interface TextRun {
  of: 'text';
  /** One line, without control characters. */
  text: string;
  /** From the outside in. */
  style: readonly Style[];
  /** http or https. */
  href: string | null;
}

export const styles = ['bold', 'italic', 'strike', 'code'] as const;
export type Style = (typeof styles)[number];
