import type { PlanState } from '../domain/brake.ts';
import { AppError } from '../domain/errors.ts';
import { describeCause } from '../domain/standing.ts';
import { maskText } from '../lib/mask.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { type Approved, approvePlan } from '../operator/approve-plan.ts';
import { decidePlan } from '../operator/decide-plan.ts';
import {
  findPlan,
  listPlanItems,
  listPlans,
  type Plan,
  type PlanItem,
  type PlanResult,
} from '../removals/plan-store.ts';
import type { Printed } from './define-command.ts';
import { refuseUnknownInstall } from './pick-install.ts';
import type { ServicesSession, StorageSession } from './session.ts';
import { toPatience } from './terminal.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway plans`: the removals that the brake holds, and the decisions about them. */

export interface PlanFilter {
  install: string | undefined;
  state: PlanState | undefined;
  all: boolean;
}

export async function runPlansList({ install, state, all }: PlanFilter, session: StorageSession): Promise<Printed> {
  const wanted = all ? undefined : (state ?? 'open');
  const plans = await listPlans(session.storage, { install, state: wanted });
  if (plans.length === 0) await refuseUnknownInstall(session, install);
  return printPlans(plans);
}

export function printPlans(plans: readonly Plan[]): Printed {
  return { data: { plans }, text: () => toTable(plans) };
}

function toTable(plans: readonly Plan[]): string {
  return formatList(plans, columns, 'There are no such plans.');
}

const columns: Columns<Plan> = [
  ['plan', ({ id }) => id],
  ['install', ({ install }) => install],
  ['state', ({ state }) => state],
  ['people', ({ size }) => size, { align: 'right' }],
  ['made', ({ createdAt }) => createdAt],
  ['decided', ({ decidedAt }) => decidedAt],
];

export async function runPlansShow({ plan: id }: { plan: number }, { storage }: StorageSession): Promise<Printed> {
  const plan = await findPlan(storage, id);
  if (plan === undefined) throw new AppError('not_found', `There is no plan ${id}`);
  return printPlan(plan, (await listPlanItems(storage, id)).map(toShown));
}

export type ShownItem = ReturnType<typeof toShown>;

export function printPlan(plan: Plan, items: readonly ShownItem[]): Printed {
  return {
    data: { ...plan, items },
    text: () => `${toTable([plan])}\n\n${formatList(items, itemColumns, 'It is empty.')}`,
  };
}

/** Adds the reason in words, and masks the name, because strangers choose names. */
function toShown(item: PlanItem) {
  const { displayName, cause } = item;
  const name = displayName === null ? null : maskText(displayName);
  return { ...item, because: describeCause(cause), displayName: name };
}

const itemColumns: Columns<ShownItem> = [
  ['membership', ({ membershipId }) => membershipId],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['trainer', ({ trainerId }) => trainerId],
  ['name', ({ displayName }) => displayName],
  ['contracts', ({ contractIds }) => contractIds.join(', ')],
  ['because', ({ because }) => because],
  ['now', ({ isStale, outcome }) => (isStale ? 'stale' : (outcome ?? 'held'))],
];

export interface Approval {
  plan: number;
  only: number[];
  withoutReading: boolean;
  wait: number;
}

export async function runPlansApprove(
  { plan, only, withoutReading, wait }: Approval,
  { terminal, services }: ServicesSession,
): Promise<Printed> {
  const approved = await approvePlan(services, decidedBy(), plan, {
    patience: toPatience(terminal, services.loops, wait),
    only: toOnly(only),
    isUnread: withoutReading,
  });
  return printApproved(plan, approved, wait > 0);
}

/** @param isAwaited whether what is left is a failure */
export function printApproved(plan: number, approved: Approved, isAwaited: boolean): Printed {
  return {
    data: { plan, ...approved },
    text: () => toApprovedText(approved),
    status: isAwaited && approved.left > 0 ? 1 : 0,
  };
}

function toApprovedText(approved: Approved): string {
  const { decided, dropped } = approved;
  return [
    `${decided} will be removed.${sayStale(approved)}`,
    ...(dropped.length > 0 ? [formatList(dropped, droppedColumns, '')] : []),
    toDone(approved),
  ].join('\n');
}

/** The people that are not removed, and why. */
const droppedColumns: Columns<Approved['dropped'][number]> = [
  ['membership', ({ membershipId }) => membershipId],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['trainer', ({ trainerId }) => trainerId],
  ['name', ({ displayName }) => displayName],
  ['stays because', ({ why }) => why],
];

function toDone({ removed, left }: { removed: number; left: number }): string {
  const rest = left === 0 ? '' : ` ${left} are not yet, and are tried again by a running bridge.`;
  return `${removed} are removed.${rest}`;
}

export async function runPlansReject(
  { plan, only }: { plan: number; only: number[] },
  { storage }: StorageSession,
): Promise<Printed> {
  const rejected = await decidePlan(storage, decidedBy(), 'reject', plan, { only: toOnly(only) });
  return printRejected(plan, rejected);
}

export function printRejected(plan: number, rejected: PlanResult): Printed {
  return {
    data: { plan, ...rejected },
    text: () => `${rejected.decided} are kept until there is new evidence.${sayStale(rejected)}`,
  };
}

/** Without the option, the whole plan is decided. */
export function toOnly(only: number[]): number[] | undefined {
  return only.length === 0 ? undefined : only;
}

function sayStale({ stale }: { stale: number }): string {
  return stale === 0 ? '' : ` ${stale} are stale and stay.`;
}
