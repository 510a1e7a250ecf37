import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { listWorkScopes } from '../read/find-scopes.ts';
import { readNextScope } from '../read/read-scope.ts';
import { countDueScopes, keepScopes, type ListedScope, listScopes, wantScopes } from '../read/scope-store.ts';
import type { ScopeTrouble } from '../read/scope-trouble.ts';
import type { ReportWanted } from './plan-install.ts';
import { type InstallReport, reportUsage } from './report-usage.ts';
import type { OnAnswer } from './send-usage.ts';

export interface ReportPatience {
  /** The longest wait for the readings of the tools. */
  waitMs: number;
  signal: AbortSignal;
}

const lookEveryMs = 100;
const readsAtOnce = 4;

/**
 * Reads all work and reports it now: alone, or beside a bridge that may take part of it.
 *
 * @returns also the scopes that could not be read this time. What was seen of them before is reported
 */
export async function reportNow(
  ctx: Context,
  onAnswer: OnAnswer,
  wanted: ReportWanted,
  patience: ReportPatience,
): Promise<{ installs: InstallReport[]; unread: ListedScope[] }> {
  const { clock } = ctx;
  const all = await listWorkScopes(ctx);
  const wantedAt = toInstant(clock.now());
  await keepScopes(ctx, [...all.values()], wantedAt);
  await inTransaction(ctx.database, (tx) => wantScopes(tx, [...all.values()], wantedAt));
  await Promise.all(Array.from({ length: readsAtOnce }, () => readAll(ctx, wantedAt, patience)));
  const unread = (await listScopes(ctx)).filter(
    ({ nextReadAt, readBeganAt, ...workScope }) =>
      nextReadAt !== null && (readBeganAt === null || readBeganAt < wantedAt) && !isOver(workScope),
  );
  return { installs: await reportUsage(ctx, onAnswer, wanted, patience.signal), unread };
}

/** The scope is gone, and no link leads to it any more. */
function isOver({ goneSince, failingSince }: ScopeTrouble): boolean {
  return goneSince !== null && failingSince === null;
}

/** A failed reading is not repeated here: it becomes due later, or a bridge repeats it. */
async function readAll(ctx: Context, wantedAt: string, { waitMs, signal }: ReportPatience): Promise<void> {
  const { clock } = ctx;
  const deadline = instantIn(clock, waitMs);
  while (!signal.aborted && (await countDueScopes(ctx, wantedAt)) > 0) {
    if (await readNextScope(ctx, signal)) continue;
    if (toInstant(clock.now()) >= deadline) return;
    await wait(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
}
