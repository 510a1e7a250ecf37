import type { Context } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import type { AlertNotice } from '../domain/notice.ts';
import { type Alerts, logAlert, sayRaised } from '../lib/alerts.ts';
import { toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { noticeRuleOf, type RaisedKind } from '../lib/troubles.ts';
import { aboutOf, alertRules, digestOf, pickIds, ruleOf } from './alert-rules.ts';
import {
  type FoundAlert,
  findAlert,
  listOpenAlerts,
  lockAlert,
  lockAlertAgain,
  type StoredAlert,
  updateAlert,
} from './alert-store.ts';
import { addAlertNotice } from './notice-store.ts';

/** Turns alerts into notices, each once, even if several processes raise them. */
export interface AlertNotices extends Alerts {
  /** Resolves when all alerts so far are stored. A process must wait for it before it ends. */
  settled(): Promise<void>;
}

/** Every reading finds the same trouble again, so `seenAt` is written at most this often. */
const seenEveryMs = 60_000;

/** @param contextOf called when an alert is raised, because the context is created with these notices */
export function createAlertNotices(contextOf: () => Context): AlertNotices {
  let pending: Promise<void> = Promise.resolve();

  /** Stores alerts one after the other, in the order in which they were raised. Never throws. */
  function next(kind: RaisedKind, work: () => Promise<void>): void {
    pending = pending.then(work).catch((thrown: unknown) => {
      contextOf().logger.warn({ err: thrown, notStored: kind }, 'A notice of an alert could not be stored');
    });
  }

  return {
    raise(kind, fields, detail) {
      const ctx = contextOf();
      const found = toFound(kind, fields, sayRaised(kind, fields, detail), toInstant(ctx.clock.now()));
      next(kind, () => keepRaised(ctx, found));
    },
    observe(kind, scope, standing) {
      const ctx = contextOf();
      const observed = { kind, scope, standing, at: toInstant(ctx.clock.now()) };
      next(kind, () => keepObserved(ctx, observed));
    },
    settled: () => pending,
  };
}

function toFound(kind: RaisedKind, fields: object, message: string, at: string): FoundAlert {
  const subject = pickIds(fields, alertRules[kind].subject);
  const [digest, scope, about] = [digestOf(kind, subject), scopeOf(kind, fields), aboutOf(fields)];
  return { kind, subject, digest, scope, about, message: maskText(message), count: null, at };
}

function scopeOf(kind: RaisedKind, fields: object): string {
  return JSON.stringify(pickIds(fields, alertRules[kind].scope ?? []));
}

async function keepRaised(ctx: Context, found: FoundAlert): Promise<void> {
  const known = await findAlert(ctx, found.digest);
  if (known !== undefined && isKept(known, found.at)) return;
  await inTransaction(ctx.database, async (tx) => {
    const { id } = await keep(ctx, tx, found);
    if (ruleOf(found.kind)?.over === 'at_once') await updateAlert(tx, id, { overAt: found.at });
  });
}

/** Stores an alert that the list of troubles has, and logs it if it is announced. */
export async function keepListed(ctx: Context, found: FoundAlert): Promise<void> {
  const announced = await inTransaction(ctx.database, (tx) => keep(ctx, tx, found));
  if (announced.as === 'raised') logAlert(ctx, found.kind, found.about, found.message);
}

/** Stores that the trouble is still there, unless a later look found that it ended, and announces it if that is due. */
async function keep(ctx: Context, tx: Transaction, found: FoundAlert): Promise<{ id: number; as: Announcement }> {
  const row = await lockAlert(ctx, tx, found);
  const { about, message, at } = found;
  const isOver = row.overAt !== null;
  if (isOver && (row.overAt ?? '') > at) return { id: row.id, as: null };
  const news = { about, message, seenAt: at, ...(isOver && { raisedAt: at, isAnnounced: false, overAt: null }) };
  await updateAlert(tx, row.id, news);
  return { id: row.id, as: await announceOpen(ctx, tx, { ...row, ...news }, found.count) };
}

/** Whether an alert that is found again needs no write. */
function isKept({ overAt, isAnnounced, seenAt }: StoredAlert, at: string): boolean {
  return overAt === null && isAnnounced && Math.abs(Date.parse(at) - Date.parse(seenAt)) < seenEveryMs;
}

/** Adds the notice that is due about an open alert. The caller has locked its row. */
export async function announceOpen(
  ctx: Context,
  tx: Transaction,
  row: StoredAlert,
  count = row.count,
): Promise<Announcement> {
  const what = announcementOf(ctx, row, count);
  if (what === null) return null;
  const announcedAt = toInstant(ctx.clock.now());
  await updateAlert(tx, row.id, { isAnnounced: true, announcedAt, count });
  if (isNoticedElsewhere(row.kind)) return what;
  const endsAtOnce = ruleOf(row.kind)?.over === 'at_once';
  await addAlertNotice(ctx, tx, { ...toNotice(row, announcedAt), isRepeat: what === 'reminder', endsAtOnce });
  return what;
}

type Announcement = 'raised' | 'reminder' | null;

/** An alert that has grown is announced again, but at most once a day. */
const grownMs = 86_400_000;

/** What to announce about an open alert; nothing about a kind of a newer version. */
export function announcementOf(
  { clock, config }: Context,
  { kind, isAnnounced, announcedAt, count: before }: StoredAlert,
  count = before,
): Announcement {
  const rule = noticeRuleOf(kind);
  if (rule === undefined) return null;
  const since = announcedAt === null ? Number.POSITIVE_INFINITY : clock.now().getTime() - Date.parse(announcedAt);
  // It may have been announced before it was last over, and may come and go.
  if (!isAnnounced) return since >= (rule.quietMs ?? 0) ? 'raised' : null;
  if (since >= config.notifications.repeatMs) return 'reminder';
  return since >= grownMs && (count ?? 0) > (before ?? 0) ? 'raised' : null;
}

function toNotice({ kind, about, message, raisedAt }: StoredAlert, occurredAt: string): AlertNotice {
  const plain = { isOver: false, isRepeat: false, endsAtOnce: false };
  return { ...plain, kind: `alert.${kind}`, since: raisedAt, occurredAt, message, about };
}

interface Observed {
  kind: RaisedKind;
  scope: object;
  standing: readonly object[];
  at: string;
}

async function keepObserved(ctx: Context, { kind, scope, standing, at }: Observed): Promise<void> {
  const { database } = ctx;
  const known = await listOpenAlerts(ctx, { kind, scope: scopeOf(kind, scope) });
  if (known.length === 0) return;
  const digests = new Set(
    standing.map((fields) => digestOf(kind, pickIds({ ...scope, ...fields }, alertRules[kind].subject))),
  );
  for (const row of known) {
    // Another instance has found it later.
    if (row.seenAt > at) continue;
    if (!digests.has(row.digest)) await endAlert(ctx, row);
    else if (!isKept(row, at)) {
      await inTransaction(database, async (tx) => {
        if ((await lockAlertAgain(ctx, tx, row.id))?.overAt === null) await updateAlert(tx, row.id, { seenAt: at });
      });
    }
  }
}

/**
 * Ends an alert and announces its end, unless another instance did, or found its trouble again meanwhile. The end of
 * an alert that was never announced is not announced either.
 */
export async function endAlert(ctx: Context, { id, seenAt }: StoredAlert): Promise<void> {
  const { database, clock } = ctx;
  await inTransaction(database, async (tx) => {
    const row = await lockAlertAgain(ctx, tx, id);
    if (row === undefined || row.overAt !== null || row.seenAt !== seenAt) return;
    const overAt = toInstant(clock.now());
    await updateAlert(tx, id, { overAt });
    if (row.isAnnounced && !isNoticedElsewhere(row.kind))
      await addAlertNotice(ctx, tx, { ...toNotice(row, overAt), isOver: true });
  });
}

function isNoticedElsewhere(kind: string): boolean {
  return noticeRuleOf(kind)?.isNoticedElsewhere === true;
}
