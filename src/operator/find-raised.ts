import type { Storage } from '../keys/storage.ts';
import { isRaised, type TroubleKind } from '../lib/trouble-rules.ts';
import { isAlert, type TroubleFacts, toTrouble } from '../lib/troubles.ts';
import { listStandingAlerts, type StoredAlert } from '../notify/alert-store.ts';

const mostNamed = 5;
const mostRead = 1000;

/**
 * What no query finds: what was raised as an alert and still stands. The first of a kind, install and tool are named,
 * the others counted.
 */
export async function findRaised(ctx: Storage): Promise<TroubleFacts[]> {
  const raised = (await findStanding(ctx)).filter(({ kind }) => isRaised(kind));
  const groups = Map.groupBy(raised, ({ kind, install, tool }) => JSON.stringify([kind, install, tool]));
  return [...groups.values()].flatMap((some) => [
    ...some.slice(0, mostNamed),
    ...some.slice(mostNamed, mostNamed + 1).map(({ kind, install = null, tool = null, since = null }): TroubleFacts => {
      const count = some.length - mostNamed;
      return { kind, install, tool, since, count, detail: `And ${count} more` };
    }),
  ]);
}

/** What is known to stand by the last look of an instance, as facts. */
export async function findStanding(ctx: Storage): Promise<TroubleFacts[]> {
  const standing = await listStandingAlerts(ctx, { after: 0, limit: mostRead });
  return standing.flatMap((row) => (isAlert(row.kind) ? [toFacts({ ...row, kind: row.kind })] : []));
}

function toFacts({ kind, about, message, count, raisedAt }: StoredAlert & { kind: TroubleKind }): TroubleFacts {
  const { install = null, tool = null, url = null, ...ids } = about;
  const facts = { kind, install, tool, url, count, since: raisedAt, about: ids };
  const { says } = toTrouble(facts);
  const more = message.startsWith(says) ? message.slice(says.length).trim() : message;
  const named = Object.entries(ids).map(([name, id]) => `${name} ${id}`);
  return { ...facts, detail: [more, named.join(', ')].filter(Boolean).join('. ') || null };
}
