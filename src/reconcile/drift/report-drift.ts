import type { AlertKind, Alerts } from '../../lib/alerts.ts';
import type { Logger } from '../../lib/logger.ts';
import { maskText } from '../../lib/mask.ts';
import type { Metrics } from '../../lib/metrics.ts';
import type { Group } from './drift-store.ts';
import type { AddBack, DriftVerdict } from './judge-drift.ts';

/** What a listing of a group came to, and what was done about it. */
export interface GroupDrift {
  verdicts: DriftVerdict[];
  /** How many members the tool has in the group. */
  listed: number;
  /** How many memberships are looked at again. */
  lookedAt: number;
  removedAgain: number[];
  /** Who was put back before, and is missing again. */
  vanishing: (AddBack & { membershipId: number })[];
  /** Whether accounts that are ours are given the address that their person has by now. */
  followsAddresses: boolean;
}

export type ReportDrift = (group: Group, drift: GroupDrift) => void;

interface ReportDriftDeps {
  alerts: Alerts;
  metrics: Metrics;
  logger: Logger;
}

type Kind = DriftVerdict['kind'];
type Counts = Record<Kind, number>;

/** What is worth an operator's attention; it is told anew only where it was not so the last time. */
interface Finding {
  key: string;
  alert: AlertKind;
  fields: object;
  message: string;
}

const kinds: readonly Kind[] = [
  ...(['missing', 'id_changed', 'found_again', 'address_changed', 'stranger', 'leak'] as const),
];

/** Tells an operator once, as long as it stays as it is and this process lives. */
export function createReportDrift({ alerts, metrics, logger }: ReportDriftDeps): ReportDrift {
  const last = new Map<string, { tool: string; counts: Counts; told: ReadonlySet<string> }>();
  return ({ tool, groupId }, drift) => {
    const counts = countKinds(drift.verdicts);
    const findings = findingsOf(drift);
    const key = JSON.stringify([tool, groupId]);
    const before = last.get(key);
    last.set(key, { tool, counts, told: new Set(findings.map((finding) => finding.key)) });
    for (const kind of kinds) metrics.drift.set({ tool, kind }, sum(last, tool, kind));
    for (const { key: about, alert, fields, message } of findings) {
      if (!before?.told.has(about)) alerts.raise(alert, { tool, group: groupId, ...fields }, message);
    }
    if (JSON.stringify(before?.counts) === JSON.stringify(counts)) return;
    if (before === undefined && kinds.every((kind) => counts[kind] === 0)) return;
    const { listed, lookedAt } = drift;
    logger.info(
      { tool, group: groupId, listed, ...counts, lookedAt },
      'The members of a group were compared with what is known',
    );
  };
}

function countKinds(verdicts: DriftVerdict[]): Counts {
  const counts = {
    missing: 0,
    id_changed: 0,
    found_again: 0,
    address_changed: 0,
    stranger: 0,
    leak: 0,
  };
  for (const { kind } of verdicts) counts[kind] += 1;
  return counts;
}

function sum(last: ReadonlyMap<string, { tool: string; counts: Counts }>, tool: string, kind: Kind) {
  let total = 0;
  for (const one of last.values()) if (one.tool === tool) total += one.counts[kind];
  return total;
}

function findingsOf(drift: GroupDrift): Finding[] {
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
      message: 'Somebody whom we removed is in again, and is removed again unless a contract begins',
    })),
    ...vanishing.map(({ membershipId: membership, timesAddedBack }) => ({
      key: `vanishing ${membership} ${timesAddedBack}`,
      alert: 'member_keeps_vanishing' as const,
      fields: { membership, timesAddedBack },
      message: 'Another hand keeps taking somebody out whom we put back: from now on once an hour',
    })),
  ];
}

/** So many are named; the number says the rest. */
const maxNamed = 5;

/** One alert for all of a group: a tool full of them is one thing to look at. */
function findLeaks(verdicts: DriftVerdict[]): Finding[] {
  const ids = verdicts.flatMap((verdict) => (verdict.kind === 'leak' ? [verdict.memberId] : []));
  if (ids.length === 0) return [];
  // Ids are the tool's: in some they are addresses.
  const members = ids.slice(0, maxNamed).map((id) => maskText(id).slice(0, 60));
  return [
    {
      key: `leak ${JSON.stringify(ids.toSorted())}`,
      alert: 'managed_address_leaked',
      fields: { leaks: ids.length, members },
      message: 'Accounts with a managed address are in a group without a reason: not removed by us',
    },
  ];
}

function toAddressChanged(
  { membershipId: membership, address, isKnown }: Extract<DriftVerdict, { kind: 'address_changed' }>,
  isFollowed: boolean,
): Finding {
  const todo = isFollowed ? 'it follows, if the account is ours' : 'change it there';
  return {
    key: `address_changed ${membership} ${address}`,
    alert: 'address_changed',
    fields: { membership },
    message: isKnown
      ? `Somebody is in under another address than their work email is now: ${todo}`
      : 'The account of somebody shows an address that nobody told for them: it is looked at whether it is still theirs',
  };
}
