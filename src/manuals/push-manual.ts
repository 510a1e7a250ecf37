import { hash } from 'node:crypto';
import { AppError, toAppError } from '../domain/errors.ts';
import { type Conflict, changesets } from '../marketplace/contract/changesets.ts';
import { manuals, workspaces } from '../marketplace/contract/instructions.ts';
import type { Sent } from '../marketplace/contract/operation.ts';
import { conflictCodes, type Reason, refusals } from '../marketplace/contract/refusals.ts';
import { detailsOf, reasonOf } from '../marketplace/refusal.ts';
import type { Account } from '../marketplace/source.ts';
import { type FileChanges, type Files, type ManualFolder, readManuals } from './manual-folder.ts';
import { type Change, type PlanOptions, planChanges } from './plan-changes.ts';
import { pullManual } from './remote-manual.ts';

export interface PushOptions extends PlanOptions {
  /** `check`: only say what would happen. `submit`: a reviewer decides. */
  mode: 'check' | 'apply' | 'submit';
  note: string | undefined;
}

export const pushResults = ['unchanged', 'would_change', 'changed', 'submitted', 'conflict', 'failed'] as const;

export interface Pushed {
  manualId: string | null;
  result: (typeof pushResults)[number];
  changesetId: string | null;
  changes: Pick<Change, 'page' | 'says'>[];
  /** What the marketplace says a check would change, by page. */
  summary?: Record<string, unknown>[];
  /** Why nothing was changed, in sentences. */
  conflicts: string[];
  /** As of a refresh. */
  files: FileChanges;
}

/**
 * Makes a manual at the marketplace what its files say, by one changeset: all of it or nothing. What was changed at the
 * marketplace meanwhile is merged into the files first, so a push whose answer was lost can be repeated.
 *
 * @returns `failed` with what was pulled before, if a file is invalid or the marketplace refuses it
 */
export async function pushManual(
  account: Account,
  given: Files,
  folder: ManualFolder,
  options: PushOptions,
  signal: AbortSignal,
): Promise<Pushed> {
  const pushed: Pushed = {
    manualId: folder.id ?? null,
    result: 'unchanged',
    changesetId: null,
    changes: [],
    conflicts: [],
    files: {},
  };
  try {
    return Object.assign(pushed, await pushMerged(account, given, folder, options, signal, pushed));
  } catch (error) {
    const { code, message } = toAppError(error);
    if (code === 'internal') throw error;
    return { ...pushed, result: 'failed', conflicts: [message] };
  }
}

/** @param pushed is told what is known on the way */
async function pushMerged(
  account: Account,
  given: Files,
  folder: ManualFolder,
  options: PushOptions,
  signal: AbortSignal,
  pushed: Pushed,
): Promise<Partial<Pushed>> {
  const isCheck = options.mode === 'check';
  if (folder.id === undefined && isCheck) return { result: 'would_change', changes: planChanges(folder, options) };
  const { id: manualId, workspaceId } = await identify(account, folder, options, signal);
  const ids = { manualId, workspaceId };
  const pulled = await pullManual(account, folder, ids, signal);
  Object.assign(pushed, { manualId, files: isCheck ? {} : pulled.files });
  if (pulled.conflicts.length > 0) return { result: 'conflict', conflicts: pulled.conflicts };
  const merged = readManuals(mergeFiles(given, pulled.files)).find(({ id }) => id === manualId) ?? folder;
  const changes = planChanges(merged, options);
  if (changes.length === 0) return {};
  const input = { workspaceId, description: options.note, operations: changes.map(({ operation }) => operation) };
  const sent = { changes, ...(await send(account, input, options.mode, merged.revision, changes, signal)) };
  if (sent.result !== 'changed') return sent;
  const { files, conflicts } = await pullManual(account, merged, ids, signal, true);
  return { ...sent, conflicts, files: { ...pulled.files, ...files } };
}

function mergeFiles(files: Files, changes: FileChanges): Files {
  const all = Object.entries({ ...files, ...changes });
  return Object.fromEntries(all.flatMap(([name, text]) => (text === null ? [] : [[name, text]])));
}

/** Makes a manual that is new. */
async function identify(account: Account, folder: ManualFolder, options: PushOptions, signal: AbortSignal) {
  const { id, title, audience, bindings } = folder;
  const workspaceId = folder.workspaceId ?? (await onlyWorkspace(account, folder, signal));
  if (id !== undefined) return { id, workspaceId };
  planChanges(folder, options);
  const input = { workspaceId, title, audience, bindings } as Sent<typeof manuals.create>;
  // The same folder is the same manual, so that a repeat makes no second one, also with other pages.
  const idempotencyKey = hash('sha256', JSON.stringify([folder.folder, input]));
  return { id: (await account.call(manuals.create, input, signal, { idempotencyKey })).manual.id, workspaceId };
}

const decided: ReadonlySet<string> = new Set(['APPROVED', 'REJECTED', 'APPLIED', 'CONFLICTED']);

async function send(
  { call }: Account,
  input: Sent<typeof changesets.apply>,
  mode: PushOptions['mode'],
  revision: number,
  changes: Pushed['changes'],
  signal: AbortSignal,
): Promise<Pick<Pushed, 'result'> & Partial<Pushed>> {
  const idempotencyKey = hash('sha256', JSON.stringify(input));
  if (mode === 'check') {
    const { conflicts = [] } = await call(changesets.validate, input, signal);
    if (conflicts.length > 0) return { result: 'conflict', conflicts: explainAll(conflicts, changes) };
    return { result: 'would_change', summary: (await call(changesets.diff, input, signal)).pages ?? [] };
  }
  if (mode === 'submit') {
    for (let key = idempotencyKey; ; ) {
      const { id: changesetId } = (await call(changesets.submit, input, signal, { idempotencyKey: key })).changeset;
      const { status } = (await call(changesets.get, { changesetId }, signal)).changeset;
      if (!decided.has(status)) return { result: 'submitted', changesetId };
      // The same changes were submitted and decided before.
      key = hash('sha256', key + changesetId);
    }
  }
  try {
    // A change that was undone can be made again.
    const once = hash('sha256', JSON.stringify([revision, input]));
    await call(changesets.apply, input, signal, { idempotencyKey: once });
    return { result: 'changed' };
  } catch (error) {
    return { result: 'conflict', conflicts: explainAll(conflictsIn(error), changes) };
  }
}

/** Those of a refused changeset. @throws the error if it is another one */
export function conflictsIn(error: unknown): Conflict[] {
  if (!conflictCodes.some((code) => code === reasonOf(error))) throw error;
  return changesets.validate.out.shape.conflicts.parse(Object(detailsOf(error)).conflicts) ?? [];
}

/** Each with its page, what is wrong and what to do. */
export function explainAll(conflicts: readonly Conflict[], changes: Pushed['changes']): string[] {
  return conflicts.map(({ operationIndex, code, message, pageId }) => {
    const change = changes[operationIndex ?? -1];
    const where = change === undefined ? (pageId ?? 'the changeset') : `${change.page} (${change.says})`;
    const [, means, remedy] = refusals[code as Reason] ?? [409, code, message];
    return `${where}: ${means}. ${remedy}`;
  });
}

async function onlyWorkspace({ listWhole }: Account, { folder }: ManualFolder, signal: AbortSignal): Promise<string> {
  const [only, ...others] = await listWhole(workspaces.list, {}, signal);
  if (only !== undefined && others.length === 0) return only.id;
  throw new AppError('invalid', `Name the workspace: "workspaceId" in ${folder}/manual.json`);
}
