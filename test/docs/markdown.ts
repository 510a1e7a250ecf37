import { globSync, readFileSync } from 'node:fs';

/** What a reader gets to see. */
export const documents = ['README.md', 'CONTRIBUTING.md', ...globSync('{docs,src/adapters}/**/*.md')];

export interface Block {
  language: string;
  text: string;
}

/** The fenced blocks of a page, each with its language. */
export function blocksOf(file: string): Block[] {
  const fences = readFileSync(file, 'utf8').matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm);
  return [...fences].map(([, language = '', text = '']) => ({ language, text }));
}

/** A page without its fenced blocks. */
export function proseOf(file: string): string {
  return readFileSync(file, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The texts in backticks in a page's prose. */
export function codeOf(file: string): string[] {
  return [...proseOf(file).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

/** The anchors of a page: its own, and those that GitHub makes from its headings. */
export function anchorsOf(file: string): string[] {
  const own = [...proseOf(file).matchAll(/<a id="(\w+)">/g)].map(([, name = '']) => name);
  const ofHeadings = headingsOf(file).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return [...own, ...ofHeadings];
}

export function headingsOf(file: string): string[] {
  return [...proseOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
}

/** The commands of a shell block, without what is only for the shell. */
export function commandsIn(shell: string): string[] {
  const lines = shell.split(/\n|&&/).map((line) => line.replace(/\s(&|>.*)$/, '').trim());
  return lines.filter((line) => line !== '');
}

export function wordsOf(command: string): string[] {
  const words = command.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) => word.replaceAll(/["']/g, ''));
}
