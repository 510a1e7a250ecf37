import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadAdapters } from '../../src/adapters/load-adapters.ts';
import { createApp } from '../../src/app/app.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { takeFreePort } from '../../src/cli/try-command.ts';
import { Config } from '../../src/config/config-schema.ts';
import { invitationContext } from '../../src/db/seal-contexts.ts';
import { employerEventTypes } from '../../src/domain/event.ts';
import type { InvitationContent } from '../../src/domain/invitation.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { readRoster } from '../support/roster.ts';
import { type LabelStudioServer, openLabelStudio } from '../tools/label-studio-server.ts';
import { databaseOptions, say, startTable } from './bench.ts';
import { withBenchDatabases } from './bench-database.ts';
import { percentile } from './percentile.ts';

/**
 * `npm run bench:hire-to-access`: how long a trainer waits from the hire until they are in.
 *
 * An employer with an account of their own and a webhook; hires one after the other. The tool is a real Label Studio,
 * with accounts made by the sign-up form, or else the roster (`--roster`, or where Label Studio cannot be installed).
 * Measured are the moment at which the tool has let them in and Gangway has said so, and in Label Studio also the
 * moment at which its login form has taken their password. `--postgres` for PostgreSQL.
 */
const { values } = parseArgs({
  options: {
    hires: { type: 'string', default: '40' },
    /** Milliseconds between a trainer who is in and the next hire. Without a pause the client's own pace is measured. */
    pause: { type: 'string', default: '1000' },
    roster: { type: 'boolean', default: false },
    ...databaseOptions,
  },
});
const lookEveryMs = 5;
const patienceMs = 60_000;

interface Tool {
  name: string;
  project: string;
  settings: Record<string, unknown>;
  /** Resolves when the trainer is in, by what the tool itself answers. */
  enter(email: string, invitation: InvitationContent | null): Promise<void>;
  stop(): Promise<void>;
}

await withBenchDatabases(values, async (databases, folder) => {
  const server = values.roster ? null : await openLabelStudio();
  const tool = server === null ? openRoster(folder) : await prepareLabelStudio(server);
  try {
    await measure(await databases.create('hires'), tool);
  } finally {
    await tool.stop();
  }
});

async function measure(databaseUrl: string, tool: Tool): Promise<void> {
  const sandbox = createSandbox({ seed: 'bench' });
  const { baseUrl, employerBaseUrl } = await sandbox.start();
  const { accountId, token } = sandbox.createAccount();
  const { id: jobId } = sandbox.createJob({ accountId });
  const port = await takeFreePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const secret = await subscribe(employerBaseUrl, token, `${publicUrl}/webhooks/own`);
  const config = Config.parse({
    receiver: { host: '127.0.0.1', port, publicUrl, drain: '0s' },
    console: { port: 0 },
    marketplace: { baseUrl, employerBaseUrl },
    installs: {
      own: { source: 'employer', token, webhookSecrets: [secret], tool: 'studio', jobs: { [jobId]: tool.project } },
    },
    tools: { studio: tool.settings },
  });
  const storage = await openStorage(databaseUrl, randomBytes(32));
  const logger = createLogger({ level: 'error', destination: process.stderr });
  const app = createApp({ config, storage, logger, adapters: await loadAdapters(config) });
  await app.start();
  // The first reading of the account is over.
  await wait(2000);

  const saidMs: number[] = [];
  const enteredMs: number[] = [];
  for (let number = 0; number < Number(values.hires); number += 1) {
    const trainer = { opentrainUserId: `usr-${number}`, workEmail: `trainer.${number}@opentrain.work` };
    const beganAt = performance.now();
    sandbox.hire({ jobId, trainers: [trainer] });
    const invitation = await untilAccess(storage, trainer.opentrainUserId);
    saidMs.push(performance.now() - beganAt);
    await tool.enter(trainer.workEmail, invitation);
    enteredMs.push(performance.now() - beganAt);
    await wait(Number(values.pause));
  }
  await app.stop();
  await storage.database.close();
  await sandbox.stop();
  say(`${values.hires} hires, one after the other, in ${tool.name}, on ${values.postgres ? 'PostgreSQL' : 'SQLite'}`);
  const print = startTable(14, ['p50 ms', 'p95 ms', 'max ms']);
  for (const [name, all] of Object.entries({ 'access is there': saidMs, 'trainer is in': enteredMs }))
    print(
      name,
      [0.5, 0.95, 1].map((share) => percentile(all, share).toFixed(0)),
    );
}

async function subscribe(employerBaseUrl: string, token: string, url: string): Promise<string> {
  const response = await fetch(`${employerBaseUrl}/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url, eventTypes: employerEventTypes }),
  });
  if (!response.ok) throw new Error(`the webhook was answered ${response.status}`);
  return ((await response.json()) as { secret: string }).secret;
}

/** Resolves when they are a member; with what they get in with, or null where nothing is needed. */
async function untilAccess({ database, box }: OpenStorage, trainerId: string): Promise<InvitationContent | null> {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline) {
    const found = await database.kysely
      .selectFrom('membership')
      .leftJoin('invitation', 'invitation.membershipId', 'membership.id')
      .select(['membership.id', 'content'])
      .where('trainerId', '=', trainerId)
      .where('state', '=', 'active')
      .executeTakeFirst();
    if (found !== undefined) {
      const { id, content } = found;
      return content === null
        ? null
        : (JSON.parse(box.open(content, invitationContext({ membershipId: id })).toString()) as InvitationContent);
    }
    await wait(lookEveryMs);
  }
  throw new Error(`${trainerId} was not let in within ${patienceMs / 1000} s`);
}

async function prepareLabelStudio(server: LabelStudioServer): Promise<Tool> {
  const { id } = await server.api<{ id: number }>('POST', '/api/projects/', { title: 'Signs' });
  const token = await server.personalToken();
  const how = { onboarding: 'sign_up', offboarding: 'delete_user' };
  return {
    name: `Label Studio ${server.version}`,
    project: String(id),
    settings: { adapter: 'label-studio', url: server.url, token, ...how },
    async enter(email, invitation) {
      const password = invitation?.kind === 'password' ? invitation.password : '';
      const session = await server.signIn(email, password);
      if (session === null) throw new Error('the login form refuses a trainer');
    },
    stop: () => server.stop(),
  };
}

function openRoster(folder: string): Tool {
  const file = path.join(folder, 'roster.json');
  return {
    name: 'a roster, which is a file',
    project: 'signs',
    settings: { adapter: 'roster', path: file },
    async enter() {
      if (readRoster(file)['signs'] === undefined) throw new Error('a trainer is not in the roster');
    },
    stop: async () => undefined,
  };
}
