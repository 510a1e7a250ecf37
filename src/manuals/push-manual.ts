import { hash } from 'node:crypto';
import { AppError } from '../domain/errors.ts';
import { type Conflict, changesets } from '../marketplace/contract/changesets.ts';
import { manuals, workspaces } from '../marketplace/contract/instructions.ts';
import type { Sent } from '../marketplace/contract/operation.ts';
import { conflictCodes, type Reason, refusals } from '../marketplace/contract/refusals.ts';
import { detailsOf, reasonOf } from '../marketplace/refusal.ts';
import type { Account } from '../marketplace/source.ts';
import { type ManualFolder, sayUnmerged, theirs } from './manual-folder.ts';
import { type Change, type PlanOptions, planChanges } from './plan-changes.ts';
import { pullManual } from './remote-manual.ts';

export interface PushOptions extends PlanOptions {
  /** `check`: only say what would happen. `submit`: a reviewer decides. */
  mode: 'check' | 'apply' | 'submit';
  note: string | undefined;
}

export const pushResults = ['unchanged', 'would_change', 'changed', 'submitted', 'conflict'] as const;

export interface Pushed {
  manualId: string | null;
  result: (typeof pushResults)[number];
  changesetId: string | null;
  changes: Pick<Change, 'page' | 'says'>[];
  /** Why nothing was changed, in sentences. */
  conflicts: string[];
  /** As of a refresh. */
  files: Record<string, string | null>;
}

/**
 * Makes a manual at the marketplace what its files say, by one changeset: all of it or nothing. The same files are the same
 * request, so a push whose answer was lost can be repeated.
 *
 * @throws AppError `invalid` with the name of a file; otherwise the refusal of the marketplace
 */
export async function pushManual(
  account: Account,
  folder: ManualFolder,
  options: PushOptions,
  signal: AbortSignal,
): Promise<Pushed> {
  const none = { manualId: folder.id ?? null, changesetId: null, changes: [], conflicts: [], files: {} };
  const unmerged = folder.names.filter((name) => name.endsWith(theirs)).map(sayUnmerged);
  if (unmerged.length > 0) return { ...none, result: 'conflict', conflicts: unmerged };
  const changes = planChanges(folder, options);
  const same = { ...none, changes };
  if (changes.length === 0 && folder.id !== undefined) return { ...same, result: 'unchanged' };
  if (folder.id === undefined && options.mode === 'check') return { ...same, result: 'would_change' };
  const workspaceId = folder.workspaceId ?? (await onlyWorkspace(account, folder, signal));
  const id = folder.id ?? (await createManual(account, folder, workspaceId, signal));
  const operations = planChanges({ ...folder, id }, options).map(({ operation }) => operation);
  const input = { workspaceId, description: options.note, operations };
  const pushed = { ...same, manualId: id, ...(await send(account, input, options.mode, changes, signal)) };
  if (options.mode !== 'apply') return pushed;
  const { files, clashes } = await pullManual(account, folder, { manualId: id, workspaceId }, signal);
  return { ...pushed, conflicts: [...pushed.conflicts, ...clashes], files };
}

async function send(
  { call }: Account,
  input: Sent<typeof changesets.apply>,
  mode: PushOptions['mode'],
  changes: Pushed['changes'],
  signal: AbortSignal,
): Promise<Pick<Pushed, 'result'> & Partial<Pushed>> {
  const idempotencyKey = hash('sha256', JSON.stringify(input));
  if (mode === 'check') {
    const conflicts = explainAll((await call(changesets.validate, input, signal)).conflicts ?? [], changes);
    return { result: conflicts.length === 0 ? 'would_change' : 'conflict', conflicts };
  }
  if (mode === 'submit') {
    const { changeset } = await call(changesets.submit, input, signal, { idempotencyKey });
    return { result: 'submitted', changesetId: changeset.id };
  }
  try {
    if (input.operations.length > 0) await call(changesets.apply, input, signal, { idempotencyKey });
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

async function createManual({ call }: Account, folder: ManualFolder, workspaceId: string, signal: AbortSignal) {
  const { title, audience, bindings } = folder;
  const input = { workspaceId, title, audience, bindings } as Sent<typeof manuals.create>;
  const idempotencyKey = hash('sha256', JSON.stringify([folder.folder, input]));
  return (await call(manuals.create, input, signal, { idempotencyKey })).manual.id;
}

async function onlyWorkspace({ listWhole }: Account, { folder }: ManualFolder, signal: AbortSignal): Promise<string> {
  const [only, ...others] = await listWhole(workspaces.list, {}, signal);
  if (only !== undefined && others.length === 0) return only.id;
  throw new AppError('invalid', `Name the workspace: "workspaceId" in ${folder}/manual.json`);
}
