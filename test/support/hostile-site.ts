import { type RawBuilder, sql } from 'kysely';
import { writeAudit } from '../../src/db/audit-store.ts';
import { inTransaction } from '../../src/db/database.ts';
import { listDeliveries } from '../../src/inbox/delivery-list-store.ts';
import { jobOf } from '../../src/jobs/job.ts';
import { wantJobs } from '../../src/jobs/job-store.ts';
import { addAlertNotice } from '../../src/notify/notice-store.ts';
import { keepFindings } from '../../src/reconcile/drift/finding-store.ts';
import { sqlite } from './databases.ts';
import { createTestContext } from './engine-harness.ts';
import { fullEvent } from './event-bodies.ts';
import { createLoginTool } from './inviting-tool.ts';
import { type Journey, openJourney } from './journey.ts';
import { atOnce, notifying } from './notices.ts';

/** What an attacker would write: an element, attributes, a script, an end of the surrounding element. */
export const evil =
  `"'><evil-tag evil-attr="1"></evil-tag><img src="/evil" onerror="alert(1)"><script>alert(1)</script>` +
  `</td></main></textarea></title><!--`;

/** Short enough for an id, in which the marketplace may have any character that can be shown. */
const evilId = `e"'><evil-tag evil-attr=1>`;

const minuteMs = 60_000;

/** A journey in which every text of a stranger is hostile, and something of every kind waits for an operator. */
export interface HostileSite extends Journey {
  /** The address of a view that shows something. */
  addressOf(path: string): string;
}

export async function openHostileSite(): Promise<HostileSite> {
  const journey = await openJourney(sqlite, { adapter: createLoginTool().adapter });
  const { customer, sandbox, quiet, pass, deliver, storage } = journey;
  const leaving = await customer.link('street-signs');
  const hired = [1, 2, 3, 4].map(() => sandbox.hire({ jobId: customer.jobId }));
  await quiet();
  await pass(2 * 60 * minuteMs);
  await customer.api('DELETE', `/project-links/${leaving}`);
  await quiet();
  await pass(20 * minuteMs);
  const link = await customer.link('street-lamps');
  // Whose invitation waits.
  sandbox.hire({ jobId: customer.jobId });
  await quiet();
  await deliver(evil);
  await deliver(fullEvent({ type: 'contract.started', trainer: evilId, contract: evilId, project: evilId }));
  await quiet();
  const act = await poison(journey);
  const [membership] = await journey.memberships();
  const { trainers, contractId } = hired[0] ?? { trainers: [], contractId: '' };
  const [{ id: delivery } = { id: 0 }] = await listDeliveries(storage.database.kysely, {
    state: 'unprocessable',
    limit: 1,
  });
  const addresses: Record<string, string> = {
    '/deliveries/:delivery': `/deliveries/${delivery}`,
    '/trainers/:trainer': `/trainers/${trainers[0]?.opentrainUserId}`,
    '/contracts/:contract': `/contracts/${contractId}`,
    '/memberships/:membership': `/memberships/${membership?.id}`,
    '/do/linksRemove': `/do/linksRemove?install=acme&link=${link}`,
    '/do/installsRemove': '/do/installsRemove?install=acme',
    '/acts/:act': `/acts/${act}`,
  };
  const toAny = (path: string) => path.replace(':install', 'acme').replaceAll(/:\w+/g, '1');
  return { ...journey, addressOf: (path) => addresses[path] ?? toAny(path) };
}

/** Writes into every text that comes from strangers, as if nothing had checked it on its way. */
async function poison({ storage, clock }: Journey): Promise<number> {
  const { database, box } = storage;
  const at = clock.now().toISOString();
  const texts: [table: string, column: string][] = [
    ['person', 'display_name'],
    ['link', 'external_project_name'],
    ['contract', 'title'],
    ['membership', 'failure'],
    ['membership', 'doubted_id'],
    ['receipt', 'message'],
    ['invitation', 'failure'],
    ['job', 'failure'],
    ['run', 'failure'],
    ['delivery', 'failure'],
    ['delivery', 'delivery_id'],
    ['delivery', 'subject_id'],
  ];
  await inTransaction(database, (tx) => wantJobs(tx, 'reconcile', [jobOf('acme')], '9999-12-31T00:00:00.000Z'));
  const value: RawBuilder<unknown> = sql.lit(evil);
  for (const [table, column] of texts) {
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${value}`.execute(database.kysely);
  }
  const stranger = { id: evil, email: `${evil}@evil.example`, name: evil };
  await keepFindings(
    { database, box },
    { tool: 'list', groupId: 'street-lamps' },
    {
      install: 'acme',
      listedAt: at,
      listed: 1,
      findings: [{ kind: 'stranger', membershipId: null, account: stranger }],
    },
  );
  const config = notifying({ ops: atOnce });
  const channels = new Map([...config.notifications.channels].map(([, one]) => [evil, one]));
  const ctx = createTestContext(database, {
    clock,
    config: { ...config, notifications: { ...config.notifications, channels } },
  });
  const about = { install: evil, [evil]: evil };
  return await inTransaction(database, async (tx) => {
    const when = { isOver: false, isRepeat: false, endsAtOnce: true, since: at, occurredAt: at };
    await addAlertNotice(ctx, tx, { kind: 'alert.orphans', ...when, message: evil, about });
    const change = { before: evil, after: evil };
    return await writeAudit(tx, { actor: evil, at, origin: evil }, evil, evil, change);
  });
}
