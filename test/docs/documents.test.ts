import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { builtInAdapters } from '../../src/adapters/built-in-adapters.ts';
import { loadAdapters } from '../../src/adapters/load-adapters.ts';
import { otherVariables, variables } from '../../src/config/environment.ts';
import { configJsonSchema, describeAt } from '../../src/config/json-schema.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { runbookOf } from '../../src/lib/alerts.ts';
import { alertKinds } from '../../src/lib/troubles.ts';
import { createWorkspace } from '../config/workspace.ts';
import { commandTree, findCommand, parseCommand } from './command-tree.ts';
import { anchorsOf, blocksOf, codeOf, commandsIn, documents, headingsOf, proseOf, wordsOf } from './markdown.ts';
import { pages } from './pages.ts';
import { renewPage, writtenByHand } from './renew-page.ts';

/** What the documents say is held against what there is. */

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

it('the README takes two minutes to read', () => {
  expect(readFileSync('README.md').length).toBeLessThanOrEqual(8000);
  expect(proseOf('README.md').split(/\s+/).length).toBeLessThanOrEqual(700);
});

it('the documents are short enough', () => {
  const byHand = [...documents, 'CHANGELOG.md'].map((file) => writtenByHand(readFileSync(file, 'utf8'))).join('');
  expect(Buffer.byteLength(byHand)).toBeLessThanOrEqual(90_000);
});

describe.each(documents)('%s', (file) => {
  it('has links that lead somewhere', () => {
    const links = [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    expect(links.filter((target) => !target.startsWith('https://') && !leadsSomewhere(file, target))).toEqual([]);
  });

  const snippets = blocksOf(file).filter(({ language }) => language === 'json');

  it.each(snippets)('has a configuration that loads (%#)', async ({ text }) => {
    const env = Object.fromEntries(referencesIn(text).map((name) => [name, secretOf(name)]));
    const snippet = JSON.parse(text) as object;
    const document = 'adapter' in snippet ? { tools: { tool: snippet } } : snippet;
    const { config } = loadConfig({ env, cwd: createWorkspace({ 'gangway.config.json': document }) });
    const tools = new Map([...config.tools].filter(([, { adapter }]) => builtInAdapters.includes(adapter)));
    expect((await loadAdapters({ tools })).size).toBe(tools.size);
  });

  it('has only valid JSON', () => {
    for (const { text } of blocksOf(file).filter(({ language }) => language === 'json data')) {
      expect(() => JSON.parse(text), text).not.toThrow();
    }
  });

  const commands = blocksOf(file)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => commandsIn(text));

  it.each(commands)('can be followed: %s', async (line) => {
    // What a reader puts in the place of `<id>` may have to be a number.
    const [program = '', ...argv] = wordsOf(line.replaceAll(/<[^>]+>/g, '7'));
    if (program === 'gangway') await parseCommand(argv);
    else if (program === 'npm') expectScript(line);
    else expect(['docker', 'alias', 'cat']).toContain(program);
  });

  it('names commands and options that exist', () => {
    const named = codeOf(file).filter((code) => /^gangway [a-z]/.test(code));
    expect(named.filter((code) => !isCommand(code))).toEqual([]);
    for (const code of codeOf(file).filter((one) => one.startsWith('npm '))) expectScript(code);
  });

  it('names keys of the configuration that exist', () => {
    const sections = Object.keys(configJsonSchema().properties ?? {}).join('|');
    const keys = codeOf(file).filter((code) => new RegExp(`^(${sections})(\\.[\\w<>]+)+$`).test(code));
    expect(keys.filter((key) => describeAt(key.split('.')) === undefined)).toEqual([]);
  });

  it('names variables that exist', () => {
    const known = [...variables.map(({ name }) => name), ...Object.keys(otherVariables)];
    const inSnippets = referencesIn(readFileSync(file, 'utf8'));
    const named = readFileSync(file, 'utf8').match(/\bGANGWAY_[A-Z_]+\b/g) ?? [];
    const isKnown = (name: string) => known.includes(name) || known.includes(name.replace(/_FILE$/, ''));
    expect(named.filter((name) => !isKnown(name) && !inSnippets.includes(name))).toEqual([]);
  });

  it('names files of the project that exist', () => {
    const files = codeOf(file).filter((code) => /^(src|test|docs|deploy|migrations|\.ci)\/[\w./-]+$/.test(code));
    expect(files.filter((name) => !existsSync(name))).toEqual([]);
  });
});

it('the runbook of every alert exists', () => {
  expect(alertKinds.map(runbookOf).filter((link) => !leadsSomewhere('README.md', link))).toEqual([]);
});

it('every rule names the test that holds it', () => {
  const tests = globSync('test/**/*.ts');
  const named = codeOf('docs/rules.md').filter((code) => code.endsWith('.ts'));
  const countOf = (name: string) => tests.filter((file) => file.endsWith(`/${name}`)).length;
  expect(named.filter((name) => countOf(name) !== 1)).toEqual([]);
  const rules = readFileSync('docs/rules.md', 'utf8').split('\n- ').slice(1);
  expect(rules.length).toBeGreaterThan(70);
  expect(rules.filter((rule) => !named.some((name) => rule.includes(`\`${name}\``)))).toEqual([]);
});

it('comments name sections of the rules that exist', () => {
  const headings = headingsOf('docs/rules.md');
  const named = globSync('src/**/*.ts').flatMap((file) => {
    const code = readFileSync(file, 'utf8').replaceAll(/\n\s*\*\s*/g, ' ');
    return [...code.matchAll(/docs\/rules\.md, ([^).]+)\)/g)].map(([, heading = '']) => ({ file, heading }));
  });
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ heading }) => !headings.includes(heading))).toEqual([]);
});

it('CONTRIBUTING.md says what every folder of src is for', () => {
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const named = codeOf('CONTRIBUTING.md');
  expect(folders.map(({ name }) => `src/${name}`).filter((folder) => !named.includes(folder))).toEqual([]);
});

function leadsSomewhere(file: string, target: string): boolean {
  const [page = '', anchor] = target.split('#');
  const found = page === '' ? file : path.join(path.dirname(file), page);
  return existsSync(found) && (anchor === undefined || anchorsOf(found).includes(anchor));
}

function referencesIn(text: string): string[] {
  return [...text.matchAll(/"env": "(\w+)"/g)].map(([, name = '']) => name);
}

/** What the snippets refer to, where not any text will do. */
function secretOf(name: string): string {
  if (name === 'GANGWAY_SMTP_URL') return 'smtps://gangway:secret@smtp.example.com';
  if (name === 'GANGWAY_BILLING_SECRET') return `whsec_${Buffer.alloc(32, 'key').toString('base64')}`;
  return name.endsWith('_URL') ? 'https://hooks.example.com/key' : 'a-secret-of-twenty-characters';
}

function isCommand(code: string): boolean {
  const program = commandTree;
  const { command, rest } = findCommand(program, wordsOf(code).slice(1));
  // What a noun does without a verb.
  const options = optionsAt(command.commands.find((one) => one.name() === 'list') ?? command);
  const isKnown = (word: string) => !word.startsWith('--') || options.includes(word);
  const isOtherWord = command.registeredArguments.length === 0 && /^[a-z]/.test(rest[0] ?? '');
  return command !== program && !isOtherWord && rest.every(isKnown);
}

function optionsAt(command: Command): (string | undefined)[] {
  const own = command.options.map(({ long }) => long);
  return ['--help', ...own, ...(command.parent === null ? [] : optionsAt(command.parent))];
}

function expectScript(line: string): void {
  const [verb = '', ...rest] = wordsOf(line).slice(1);
  if (verb === 'run') expect(Object.keys(scripts)).toContain(rest.find((word) => !word.startsWith('-')));
  else expect(['ci', 'start', 'test', 'pack', 'install']).toContain(verb);
}

it.each(Object.entries(pages))('%s is as the code says; `npm run docs` makes it anew', (file, generate) => {
  const text = readFileSync(file, 'utf8');
  expect(text, 'run `npm run docs`').toBe(renewPage(text, generate));
});
