import path from 'node:path';
import { parseSync } from 'rolldown/utils';

/** Strings are matched too, because the sign of a comment inside a string is text. */
const stringsAndComments: Record<string, RegExp> = {
  '.css': /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\/\*.*?\*\//gs,
  '.html': /<!--.*?-->/gs,
  '.sql': /'[^']*'|"[^"]*"|--[^\n]*|\/\*.*?\*\//gs,
  '.svg': /<!--.*?-->/gs,
};

/** Counts the lines that are neither blank nor comment. In a file of any other type, every line with text counts. */
export function countCodeLines(file: string, text: string): number {
  const code = /\.[cm]?[jt]s$/.test(file) ? blankParsedComments(file, text) : blankComments(file, text);
  return code.split('\n').filter((line) => line.trim() !== '').length;
}

function blankParsedComments(file: string, text: string): string {
  const { comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const ends = [0, ...comments.map(({ end }) => end)];
  const code = comments.map(({ start, end }, index) => text.slice(ends[index], start) + blank(text.slice(start, end)));
  return code.join('') + text.slice(ends.at(-1));
}

function blankComments(file: string, text: string): string {
  const pattern = stringsAndComments[path.extname(file)];
  if (pattern === undefined) return text;
  return text.replace(pattern, (found) => (/^["']/.test(found) ? found : blank(found)));
}

function blank(comment: string): string {
  return comment.replace(/\S/g, ' ');
}
