import { expect } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { type Files, readManuals } from '../../src/manuals/manual-folder.ts';
import { type PushOptions, pushManual } from '../../src/manuals/push-manual.ts';
import { pullManual } from '../../src/manuals/remote-manual.ts';
import { changesets } from '../../src/marketplace/contract/changesets.ts';
import type { Account } from '../../src/marketplace/source.ts';
import { type Desk, follow, pick, readPage, root, stemsOf, tasks } from './desk.ts';
import { type EditName, type Market, type MarketPage, partsOf } from './market.ts';

/** Two colleagues with a folder each, and what is known of all that they and the marketplace's editor wrote. */

export const commands = ['pull', 'check', 'push', 'lost push', 'overtaken push'] as const;
export type Command = (typeof commands)[number];

/** What is left open of a step: which page, and how. */
export interface Draw {
  page: number;
  luck: number;
}

export type Colleagues = ReturnType<typeof openColleagues>;

export function openColleagues(market: Market) {
  let words = 0;
  const nextWord = () => {
    words += 1;
    return `w${words}`;
  };
  const open = (files: Desk['files']): Desk => ({ files, bin: [], isUnsure: false, says: [], nextWord });
  const desks = [open({ [`${root}/manual.json`]: '{ "title": "Signs" }' }), open({})] as const;
  /** Of each word; null for the editor. */
  const authors = new Map<string, Desk | null>();
  const [deletedWords, deletedPages] = [new Set<string>(), new Set<string>()];

  /** The second colleague begins with what the first one has pushed. */
  async function hasBegun(desk: Desk): Promise<boolean> {
    if (Object.keys(desk.files).length > 0) return true;
    const { manualId } = await market.read();
    if (manualId === undefined) return false;
    desk.files[`${root}/manual.json`] = JSON.stringify({ id: manualId, title: 'Signs' });
    return true;
  }

  async function work(desk: Desk, task: keyof typeof tasks, { page, luck }: Draw): Promise<void> {
    const stems = stemsOf(desk.files);
    const act = stems.length === 0 ? tasks.addPage : tasks[task];
    await witness(desk, () => act(desk, pick(stems, page) ?? root, luck));
  }

  /** Does what was said. */
  async function heed(desk: Desk): Promise<void> {
    for (const says of desk.says.splice(0)) await witness(desk, () => follow(desk, says));
  }

  async function witness(desk: Desk, act: () => unknown): Promise<void> {
    const [hadWords, hadIds] = [wordsOf(desk.files), idsOf(desk.files)];
    act();
    const [left, ids] = [wordsOf(desk.files), idsOf(desk.files)];
    addAll(deletedPages, without(hadIds, ids));
    for (const word of without(left, [...authors.keys()])) authors.set(word, desk);
    const gone = without(hadWords, left);
    if (gone.length > 0) addAll(deletedWords, without(gone, (await market.read()).pages.flatMap(wordsAt)));
  }

  async function edit(name: EditName, { page, luck }: Draw): Promise<void> {
    const present = (await market.read()).pages.filter(({ isArchived }) => !isArchived);
    const [one, word] = [pick(present, page), nextWord()];
    if (one === undefined) return;
    await market.edits[name](one, pick([null, ...present], luck)?.pageId ?? null, word, luck);
    const { pages } = await market.read();
    const written = pages.flatMap(wordsAt).filter((found) => [word, `new-${word}`].includes(found));
    for (const found of written) authors.set(found, null);
    const archived = pages.filter(({ isArchived }) => isArchived);
    if (name === 'archive') for (const { pageId } of archived) deletedPages.add(pageId);
  }

  async function command(desk: Desk, name: Command, draw: Draw): Promise<string> {
    const call: Account['call'] = async (operation, ...sent) => {
      const isApply = operation.id === changesets.apply.id;
      if (isApply && name === 'overtaken push') await edit('write', draw);
      const answer = await market.account.call(operation, ...sent);
      if (isApply && name === 'lost push') throw new AppError('unavailable', 'The answer was lost');
      return answer;
    };
    const account = { ...market.account, call };
    const { files } = desk;
    const { result, says } = await run(desk, name, account, market.workspaceId).catch(toFailed);
    const isLost = says[0] === 'The answer was lost';
    // The program was killed.
    if (isLost && draw.luck % 2 === 0) desk.files = files;
    desk.says = isLost ? [] : says;
    if (name !== 'check' && (isLost || result !== 'failed')) desk.isUnsure = isLost;
    return result;
  }

  /** No text is lost, no page is made twice, and none is archived that nobody deleted. */
  async function check(): Promise<void> {
    const { pages } = await market.read();
    const { present = [], archived = [] } = Object.groupBy(pages, (one) => (one.isArchived ? 'archived' : 'present'));
    const there = present.map((page) => [...new Set(wordsIn(partsOf(page)))]);
    const kept = new Set([...there.flat(), ...archived.flatMap(wordsAt), ...deletedWords]);
    const here = new Map(desks.map((desk) => [desk, wordsOf(desk.files)]));
    const missing = [...authors].filter(([word]) => !kept.has(word));
    const lost = missing.filter(([word, author]) => author === null || !here.get(author)?.includes(word));
    const born = there.flat().filter((word) => word.startsWith('new-'));
    expect({
      lost: lost.map(([word]) => word),
      madeTwice: born.filter((word, index) => born.indexOf(word) < index),
      archivedByNobody: archived.filter(({ pageId }) => !deletedPages.has(pageId)),
    }).toEqual({ lost: [], madeTwice: [], archivedByNobody: [] });
  }

  return { desks, market, hasBegun, work, heed, edit, command, check };
}

const options = { note: undefined, replaces: false, spell: <Node>(node: Node) => node };

/** As the program does it, which writes no file if an error is thrown. */
async function run(desk: Desk, name: Command, account: Account, workspaceId: string) {
  const { signal } = new AbortController();
  const [manual] = readManuals(desk.files);
  if (manual === undefined) throw new Error('There is no manual');
  const { id: manualId } = manual;
  const mode: PushOptions['mode'] = name === 'check' ? 'check' : 'apply';
  const ids = { manualId: manualId ?? '', workspaceId };
  const pull = async () =>
    manualId === undefined ? { files: {}, conflicts: [] } : await pullManual(account, manual, ids, signal);
  const done =
    name === 'pull'
      ? { ...(await pull()), result: 'pulled' }
      : await pushManual(account, desk.files, manual, { ...options, mode }, signal);
  const written = Object.entries({ ...desk.files, ...done.files });
  desk.files = Object.fromEntries(written.flatMap(([path, text]) => (text === null ? [] : [[path, text]])));
  return { result: done.result, says: done.conflicts };
}

function toFailed(error: unknown) {
  if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
  return { result: 'failed', says: [error.message] };
}

function addAll(known: Set<string>, all: readonly string[]): void {
  for (const one of all) known.add(one);
}

const without = (all: readonly string[], others: readonly string[]) => all.filter((one) => !others.includes(one));
const wordsIn = (parts: readonly string[]) => parts.flatMap((part) => part.split(' '));
const wordsAt = ({ revisions }: MarketPage) => revisions.flatMap((one) => wordsIn(partsOf({ revisions: [one] })));

function wordsOf(files: Files): string[] {
  const names = Object.keys(files).filter((name) => name.endsWith('.md'));
  return names.flatMap((name) => wordsIn(readPage(files[name]).parts));
}

export function idsOf(files: Files): string[] {
  return stemsOf(files).flatMap((stem) => readPage(files[`${stem}.md`]).front.id ?? []);
}
