import { expect, it } from 'vitest';
import { countCodeLines } from './support/code-lines.ts';

it.each([
  ['a blank line and a comment', 'a.ts', 'a();\n\n  \n// b\n/**\n * c\n */\nd();\n', 2],
  ['code before and after a comment', 'a.ts', '/* b */ a(); // c\n/* d\n*/ e();\n', 2],
  [
    'a string with the sign of a comment',
    'a.ts',
    "const a = '/*';\nconst b = 'https://c';\n// d\nconst e = '*/';\n",
    3,
  ],
  ['a template with lines like comments', 'a.ts', 'const a = `\n// b\n/* c */\nd /* e */\n`;\n', 5],
  ['a regular expression', 'a.ts', 'const a = /[/*]\\/\\//;\nb();\n', 2],
  ['characters of two code units', 'a.ts', 'const a = "🙂🙂"; // 🙂\n// 🙂\nb();\n', 2],
  ['a style sheet', 'a.css', 'a {\n  /* b\n\n  c */\n  content: "/* d";\n}\n/* e */\n', 3],
  ['a page', 'a.html', '<p>\n<!-- a\n b -->\n</p>\n', 2],
  ['a query', 'a.sql', "-- a\nselect '--b', '/*' -- c\n/* d */\nfrom e;\n", 2],
  ['data', 'a.json', '{\n  "a": "//"\n}\n', 3],
  ['Markdown', 'a.md', '# a\n\nb\n', 2],
])('counts the code lines of %s', (_, file, text, expected) => {
  expect(countCodeLines(file, text)).toBe(expected);
});
