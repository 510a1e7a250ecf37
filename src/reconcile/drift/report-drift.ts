import type { Context } from '../../context.ts';
import type { Alerts } from '../../lib/alerts.ts';
import { maskText } from '../../lib/mask.ts';
import { remembered } from '../../lib/remembered.ts';
import type { RaisedKind } from '../../lib/troubles.ts';
import { type Group, groupKeyOf } from './drift-store.ts';
import type { AddBack, DriftVerdict } from './judge-drift.ts';

/** The result of one comparison of a group, and what was done about it. */
export interface GroupDrift {
  verdicts: DriftVerdict[];
  /** How many members the tool listed. */
  listed: number;
  /** How many memberships have a look due now. */
  lookedAt: number;
  removedAgain: number[];
  /** Members that were added back before and are missing again. */
  vanishing: (AddBack & { membershipId: number })[];
  /** Whether the tool lets Gangway change the address of an account that it made. */
  followsAddresses: boolean;
}

type Kind = DriftVerdict['kind'];
type Counts = Record<Kind, number>;

/** By group: what the last comparison found. */
type LastDrift = Map<string, { tool: string; counts: Counts; reported: ReadonlySet<string> }>;

/** What an operator should look at. It is reported again only if the last comparison did not find it. */
interface DriftFinding {
  key: string;
  alert: RaisedKind;
  fields: object;
  detail?: string;
}

const kinds = ['missing', 'id_changed', 'found_again', 'address_changed', 'stranger', 'leak'] as const;

/** Only this comparison can tell that these are over. */
const observedKinds = ['managed_address_leaked', 'address_changed'] as const;

/** Reports each finding once while it stays the same and this process runs. */
export function reportDrift(ctx: Context, { tool, groupId }: Group, drift: GroupDrift): void {
  const { alerts, metrics, logger } = ctx;
  const last = remembered(ctx.database, 'reported drift', (): LastDrift => new Map());
  const counts = countKinds(drift.verdicts);
  const findings = findingsOf(drift);
  const key = groupKeyOf({ tool, groupId });
  const before = last.get(key);
  last.set(key, { tool, counts, reported: new Set(findings.map((finding) => finding.key)) });
  for (const kind of kinds) metrics.drift.set({ tool, kind }, sum(last, tool, kind));
  observe(alerts, { tool, group: groupId }, findings);
  for (const { key: about, alert, fields, detail } of findings) {
    if (!before?.reported.has(about)) alerts.raise(alert, { tool, group: groupId, ...fields }, detail);
  }
  if (JSON.stringify(before?.counts) === JSON.stringify(counts)) return;
  if (before === undefined && kinds.every((kind) => counts[kind] === 0)) return;
  const { listed, lookedAt } = drift;
  logger.info(
    { tool, group: groupId, listed, ...counts, lookedAt },
    'The members of a group were compared with what is known',
  );
}

function observe(alerts: Alerts, scope: object, findings: readonly DriftFinding[]): void {
  for (const kind of observedKinds) {
    const standing = findings.filter(({ alert }) => alert === kind);
    alerts.observe(
      kind,
      scope,
      standing.map(({ fields }) => fields),
    );
  }
}

function countKinds(verdicts: DriftVerdict[]): Counts {
  const count = (kind: Kind) => verdicts.filter((verdict) => verdict.kind === kind).length;
  return Object.fromEntries(kinds.map((kind) => [kind, count(kind)])) as Counts;
}

function sum(last: LastDrift, tool: string, kind: Kind) {
  let total = 0;
  for (const one of last.values()) if (one.tool === tool) total += one.counts[kind];
  return total;
}

function findingsOf(drift: GroupDrift): DriftFinding[] {
  const { verdicts, removedAgain, vanishing, followsAddresses } = drift;
  return [
    ...findLeaks(verdicts),
    ...verdicts.flatMap((verdict) =>
      verdict.kind === 'address_changed' ? [toAddressChanged(verdict, followsAddresses)] : [],
    ),
    ...removedAgain.map((membership) => ({
      key: `removed_again ${membership}`,
      alert: 'removed_member_returned' as const,
      fields: { membership },
    })),
    ...vanishing.map(({ membershipId: membership, timesAddedBack }) => ({
      key: `vanishing ${membership} ${timesAddedBack}`,
      alert: 'member_keeps_vanishing' as const,
      fields: { membership, timesAddedBack },
    })),
  ];
}

/** At most this many accounts are named. */
const maxNamed = 5;

/** An alert for each leak, or one for the whole group where there are many. */
function findLeaks(verdicts: DriftVerdict[]): DriftFinding[] {
  const ids = verdicts.flatMap((verdict) => (verdict.kind === 'leak' ? [verdict.memberId] : []));
  if (ids.length === 0) return [];
  const toFinding = (key: string, fields: object): DriftFinding => ({
    key: `leak ${key}`,
    alert: 'managed_address_leaked',
    fields: { leaks: ids.length, ...fields },
  });
  if (ids.length <= maxNamed) return ids.map((id) => toFinding(id, { member: toShown(id) }));
  return [toFinding('many', { members: ids.slice(0, maxNamed).map(toShown) })];
}

/** In some tools the ids are addresses. */
function toShown(id: string): string {
  return maskText(id).slice(0, 60);
}

function toAddressChanged(
  { membershipId: membership, address, isKnown }: Extract<DriftVerdict, { kind: 'address_changed' }>,
  isFollowed: boolean,
): DriftFinding {
  const todo = isFollowed ? 'Gangway changes it, if it made the account' : 'Change it in the tool';
  return {
    key: `address_changed ${membership} ${address}`,
    alert: 'address_changed',
    fields: { membership },
    detail: isKnown
      ? todo
      : 'The account of a member shows an email that was never theirs. Gangway checks whether the account is still theirs',
  };
}
