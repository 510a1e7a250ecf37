import { parse, stringify } from 'yaml';
import type { Files } from '../../src/manuals/manual-folder.ts';

/** What a person does to the files of a manual with an editor and a file manager, and what they do about a message. */

export const root = 'ws/signs';
const theirs = '.theirs.md';

export interface Desk {
  files: Record<string, string>;
  /** What was deleted, to be put back: a page with those below it. */
  bin: Files[];
  /** Whether nobody knows if the last push was done. */
  isUnsure: boolean;
  /** What the last command said. */
  says: string[];
  /** A text or a title that nobody else writes. */
  nextWord(): string;
}

/** The paths of the pages, without `.md`. */
export function stemsOf(files: Files): string[] {
  const names = Object.keys(files).filter((name) => name.endsWith('.md') && !name.endsWith(theirs));
  return names.map((name) => name.replace('.md', '')).sort();
}

function unmergedOf(files: Files): string[] {
  return Object.keys(files).filter((name) => name.endsWith(theirs));
}

interface Page {
  front: { id?: string; title?: string; audience?: string | undefined; position?: number };
  parts: string[];
}

export function readPage(text = ''): Page {
  const [, head = '', body = text] = /^---\n(.*?)---\n(.*)$/s.exec(text) ?? [];
  return { front: parse(head) ?? {}, parts: body.split('\n\n').flatMap((part) => part.trim() || []) };
}

/** The front matter is changed, and the paragraphs are replaced. */
function change({ files }: Desk, stem: string, edit: (page: Page) => Partial<Page>): void {
  const page = readPage(files[`${stem}.md`]);
  const { front, parts } = { ...page, ...edit(page) };
  const isPlain = Object.keys(front).length === 0;
  files[`${stem}.md`] = `${isPlain ? '' : `---\n${stringify(front)}---\n\n`}${parts.join('\n\n')}\n`;
}

/** What can be done to a page. @param luck decides what is left open */
export const tasks = {
  editPart(desk: Desk, stem: string, luck: number) {
    const word = desk.nextWord();
    change(desk, stem, ({ parts }) => {
      const at = luck % (parts.length || 1);
      return { parts: parts.toSpliced(at, 1, `${parts[at] ?? ''} ${word}`.trim()) };
    });
  },
  addPart(desk: Desk, stem: string, luck: number) {
    change(desk, stem, ({ parts }) => ({ parts: parts.toSpliced(luck % (parts.length + 1), 0, desk.nextWord()) }));
  },
  addPage(desk: Desk, stem: string, luck: number) {
    const at = `${pick([root, stem], luck)}/n${luck % 3}`;
    if (!stemsOf(desk.files).includes(at)) desk.files[`${at}.md`] = `new-${desk.nextWord()}\n`;
  },
  rename(desk: Desk, stem: string, luck: number) {
    change(desk, stem, ({ front }) => ({ front: { ...front, title: `t${luck % 4}` } }));
  },
  showTo(desk: Desk, stem: string, luck: number) {
    const audience = pick(['ADMIN', 'REVIEWER', 'WORKER'], luck);
    change(desk, stem, ({ front }) => ({ front: { ...front, audience } }));
  },
  reorder(desk: Desk, stem: string, luck: number) {
    change(desk, stem, ({ front }) => ({ front: { ...front, position: luck % 4 } }));
  },
  move(desk: Desk, stem: string, luck: number) {
    // Gangway knows a new page that was pushed by its path, or by its title and place, until its file has an id.
    if (desk.isUnsure && readPage(desk.files[`${stem}.md`]).front.id === undefined) return;
    const above = pick([root, ...stemsOf(desk.files)], luck);
    moveTo(desk, stem, `${above}/${pick([`m${luck % 3}`, stem.replace(/.*\//, '')], luck >> 4)}`, luck % 3 > 0);
  },
  delete({ files, bin }: Desk, stem: string, luck: number) {
    const names = Object.keys(files).filter((name) => isOf(name, stem) && (luck % 2 > 0 || name.endsWith('.md')));
    bin.push(Object.fromEntries(names.map((name) => [name, files[name] ?? ''])));
    for (const name of names) delete files[name];
  },
  putBack(desk: Desk, _: string, luck: number) {
    const back = desk.bin.splice(luck % (desk.bin.length || 1), 1)[0] ?? {};
    // What is there already, maybe elsewhere, is not put back.
    const all = Object.values(desk.files).join();
    const isTaken = (name: string) =>
      name in desk.files || /\bnew-\w+/g.exec(back[name] ?? '')?.some((one) => new RegExp(`${one}\\b`).test(all));
    if (Object.keys(back).some((name) => name.endsWith('.md') && isTaken(name))) return void desk.bin.push(back);
    desk.files = { ...back, ...desk.files };
  },
};

/** The page with its JSON, and the pages below it. A version to be merged stays where it is. */
function isOf(name: string, stem: string): boolean {
  return [`${stem}.md`, `${stem}.json`].includes(name) || (name.startsWith(`${stem}/`) && !name.endsWith(theirs));
}

function moveTo({ files }: Desk, stem: string, to: string, withJson: boolean): void {
  if (stemsOf(files).includes(to) || to.startsWith(`${stem}/`)) return;
  const isMoved = (name: string) => isOf(name, stem) && (withJson || name !== `${stem}.json`);
  for (const name of Object.keys(files).filter(isMoved)) {
    files[to + name.slice(stem.length)] = files[name] ?? '';
    delete files[name];
  }
}

export function pick<T>(all: readonly T[], luck: number): T | undefined {
  return all[luck % all.length];
}

/** Each remedy that a message may name, and how it is followed. */
const remedies: [says: RegExp, follow: (desk: Desk, stem: string) => void][] = [
  [/Merge .*\.theirs\.md/, merge],
  [/delete its JSON/, ({ files }, stem) => void delete files[`${stem}.json`]],
  [
    /There is no page|Move the page up|Choose another place/,
    (desk, stem) => moveTo(desk, stem, `${root}/${desk.nextWord()}`, true),
  ],
  [/has the same title/, (desk, stem) => rename(desk, stem)],
  [/was edited here, and archived there|Its JSON is missing/, makeNew],
  [/Delete it again|make the change again/, () => undefined],
];

function remedyOf(says: string) {
  const [, stem = ''] = /^([\w/-]+)(?:\.md\b| \()/.exec(says) ?? [];
  return { stem, act: remedies.find(([known]) => known.test(says))?.[1] };
}

/** Whether a message names a file, and what to do. */
export function isClear(says: string): boolean {
  const { stem, act } = remedyOf(says);
  return stem !== '' && act !== undefined;
}

/** Does what a message says, unless the file was deleted since. */
export function follow(desk: Desk, says: string): void {
  const { stem, act } = remedyOf(says);
  if (act === merge || stemsOf(desk.files).includes(stem)) act?.(desk, stem);
}

function rename(desk: Desk, stem: string): void {
  change(desk, stem, ({ front }) => ({ front: { ...front, title: desk.nextWord() } }));
}

/** A new page with the same text, but for the word that tells pages apart. */
function makeNew(desk: Desk, stem: string): void {
  const other = `new-${desk.nextWord()}`;
  change(desk, stem, ({ front: { title = '' }, parts }) => ({
    front: { title },
    parts: parts.map((part) => part.replace(/new-\w+/, other)),
  }));
  delete desk.files[`${stem}.json`];
}

/** What they wrote is added to the page, wherever its file is now. */
function merge(desk: Desk): void {
  for (const name of unmergedOf(desk.files)) {
    const { front, parts } = readPage(desk.files[name]);
    const stem = stemsOf(desk.files).find((one) => readPage(desk.files[`${one}.md`]).front.id === front.id);
    const known = new Set(desk.files[`${stem}.md`]?.split(/\s+/));
    const missing = parts.filter((part) => part.split(' ').some((word) => !known.has(word)));
    if (stem !== undefined) change(desk, stem, (page) => ({ parts: [...page.parts, ...missing] }));
    delete desk.files[name];
  }
}
