import { z } from 'zod';
import { sourceKinds } from '../domain/install.ts';
import { mail, notifications } from './messages-schema.ts';
import {
  cron,
  databaseUrl,
  domain,
  duration,
  fraction,
  headerPrefix,
  host,
  httpUrl,
  mapOf,
  name,
  network,
  port,
  projectPattern,
  secret,
  section,
  size,
  timeZone,
} from './values-schema.ts';

/**
 * Everything that can be configured: the meaning, unit and default of every key. Unknown keys are refused at every level,
 * except in a tool, whose adapter validates its own settings. Durations are text in the file and milliseconds in keys that
 * end in `Ms`. Installs, tools and links become Maps. Before this schema is applied, references to secrets are resolved and
 * the template of mails is read.
 */

const text = z.string().min(1, 'must not be empty');

const limits = section('What one install may use of the capacity for all.', {
  deliveriesPerMinute: z
    .int()
    .min(1)
    .default(6000)
    .describe('How many deliveries of one install are accepted in a minute, also all at once.'),
  bytesPerMinute: size('64MiB', 1024 * 1024).describe(
    'How many bytes of them are accepted in a minute. Beyond both limits the answer is 429, and the marketplace sends the delivery again.',
  ),
  storedBytes: size('1GiB', 1024 * 1024).describe(
    'How much one install may have stored until retention deletes some of it. A hire counts for 8 KiB, for good.',
  ),
  reserveBytes: size('64MiB').describe(
    'When only this much of the disk of a SQLite file is free, every install may only use an equal part of it.',
  ),
});

const receiver = section('The public listener that takes deliveries.', {
  host: host.prefault('0.0.0.0').describe('The address the public listener binds to.'),
  port: port.default(8787).describe('The port of the public listener; 0 takes a free one.'),
  publicUrl: httpUrl
    .optional()
    .describe('The address at which the marketplace reaches this listener. It is registered there.'),
  maxConnections: z
    .int()
    .min(10)
    .default(1000)
    .describe('How many connections are open at once; for more, idle and old ones are closed.'),
  drain: duration('5s').describe(
    'How long a stopping instance says by /readyz that deliveries should go to another instance, and still stores them, before it closes.',
  ),
  limits,
}).transform(({ drain, ...rest }) => ({ ...rest, drainMs: drain }));

const consoleToken = z
  .strictObject({
    token: secret
      .min(20, 'must have at least 20 characters: make one with "openssl rand -hex 32"')
      .describe('What the person signs in with.'),
    role: z.enum(['viewer', 'operator']).describe('"viewer" sees everything, "operator" also acts.'),
  })
  .describe('One person.');

const operatorConsole = section('The private listener: the console, health, readiness, metrics.', {
  host: host.prefault('127.0.0.1').describe('The address the operator listener binds to.'),
  port: port.default(8788).describe('The port of the operator listener; 0 takes a free one.'),
  token: secret
    .optional()
    .describe('The token that a scraper sends for the metrics. Required if the console is not on loopback.'),
  tokens: mapOf(name, consoleToken).describe(
    'Who may use the console, by a name of yours for each person. Without any there are no pages.',
  ),
  hosts: z
    .array(domain)
    .default([])
    .describe('The names under which browsers reach the console, beside IP addresses and localhost.'),
  trustedProxies: z
    .array(network)
    .default([])
    .describe('The addresses of the proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.'),
});

const database = section('Where everything is stored.', {
  url: databaseUrl
    .default('sqlite:./data/gangway.db')
    .describe('"sqlite:<file>" or "postgres://…". PostgreSQL also needs GANGWAY_SECRET_KEY.'),
});

const marketplace = section('The marketplace, the same for every install.', {
  baseUrl: httpUrl
    .default('https://app.opentrain.ai/api/partner/v1')
    .describe("The root of the marketplace's platform API."),
  employerBaseUrl: httpUrl
    .default('https://app.opentrain.ai/api/public/v1')
    .describe("The root of the marketplace's API for employers, for installs that are an employer's own account."),
  managedDomains: z
    .array(domain)
    .default([])
    .describe(
      'Mail domains that belong to the marketplace. With any, only such addresses are searched for or invited, and an account with one counts as added by Gangway.',
    ),
  headerPrefixes: z
    .array(headerPrefix)
    .min(1, 'name at least one prefix')
    .default(['X-OpenTrain-', 'X-Service-'])
    .describe("How the names of a delivery's signature headers begin."),
});

const install = z.strictObject({
  source: z
    .enum(sourceKinds)
    .default('platform')
    .describe(
      '"platform": a platform that a customer has installed. "employer": your own account at the marketplace, with a personal token.',
    ),
  token: secret.describe('The token for the marketplace: a platform token (ot_ptk_), or a personal one (ot_pat_).'),
  jobs: mapOf(text, text).describe(
    'Where the people of which job work, for your own account: the project by the id of the job. "gangway links add" adds others.',
  ),
  webhookSecrets: z
    .array(secret.describe('One signing secret of the webhook endpoint.'))
    .default([])
    .describe('Every secret that may sign deliveries; several during a rotation.'),
  tool: name.describe('The name of the tool under "tools".'),
  projects: z
    .array(projectPattern)
    .min(1, 'name at least one project, or "*" for all')
    .default(['*'])
    .describe('The projects this install may act on: ids or "prefix*". Required once installs share a tool.'),
  guidelines: z
    .boolean()
    .default(false)
    .describe(
      'Whether what the manuals of its jobs publish for trainers becomes the guidelines of their projects by itself, for your own account.',
    ),
});

const tool = z
  .looseObject({
    adapter: text.describe('roster, label-studio, cvat, doccano, scim, http; or a file ("./my-tool.ts") or a package.'),
    path: text.optional().describe('The file that the roster adapter writes.'),
    url: httpUrl.optional().describe("The root of the tool's API."),
    token: secret.optional().describe("What the tool's API asks for."),
    offboarding: text.optional().describe('What a removal does in the tool; the adapter documents the choices.'),
    protected: z.array(text).default([]).describe('Accounts that Gangway never touches: addresses or ids in the tool.'),
    concurrency: z
      .int()
      .min(1)
      .max(100)
      .default(8)
      .describe('How many calls may be under way in the tool at the same time, as long as it answers quickly.'),
    timeout: duration('15s', 100).describe('How long one call to the tool may take; 15 s at most.'),
  })
  .transform(({ adapter, protected: protectedAccounts, concurrency, timeout, ...settings }) => ({
    adapter,
    protected: protectedAccounts,
    concurrency,
    timeoutMs: timeout,
    settings,
  }))
  .describe('An installation of an annotation tool; further keys are settings of its adapter.');

const removals = section('The brake on removals, and how long removals without an explicit end wait.', {
  max: z.int().min(0).default(25).describe('Removals per install in 24 hours, at most.'),
  maxFraction: fraction
    .default(0.3)
    .describe("The share of an install's people that may be removed in 24 hours (0 to 1)."),
  grace: duration('15m').describe('How long a removal without an explicit end waits.'),
  revokedGrace: duration('24h').describe('The same, after an install was revoked.'),
}).transform(({ grace, revokedGrace, ...rest }) => ({
  ...rest,
  graceMs: grace,
  revokedGraceMs: revokedGrace,
}));

const reconcile = section('Reading the marketplace on a schedule, whatever was delivered.', {
  schedule: cron
    .optional()
    .describe(
      'When every install is read from the marketplace: cron, UTC. By default every 15 minutes, and every minute without receiver.publicUrl.',
    ),
});

const subscription = section('Keeping the webhook endpoint alive, if receiver.publicUrl is set.', {
  every: duration('5m', 1_000).describe('How often the webhook endpoint is checked.'),
}).transform(({ every }) => ({ everyMs: every }));

const feed = section(
  "The updates feed of an employer's own account, which tells what happened also where no webhook can.",
  {
    every: duration('30s', 1_000).describe('How often the feed is read, besides after each delivery.'),
  },
).transform(({ every }) => ({ everyMs: every }));

const guidelines = section('Manuals that become the guidelines of projects, in tools that show them.', {
  every: duration('15m', 60_000).describe('How often manuals are read, for the installs that want it.'),
}).transform(({ every }) => ({ everyMs: every }));

const usage = section('Reporting the work done in the tools.', {
  schedule: cron.default('30 * * * *').describe('When work is reported: cron, UTC.'),
  lookback: duration('14d').describe('How far back days are read and reported again.'),
  maxLoweredFraction: fraction.default(0.2).describe("The share of an install's days that one run may lower (0 to 1)."),
  deletedTasks: z
    .enum(['keep', 'lower'])
    .default('keep')
    .describe('What happens to the reported work of a deleted task: "keep" (the work is paid) or "lower".'),
}).transform(({ lookback, ...rest }) => ({ ...rest, lookbackMs: lookback }));

const retention = section('When what is stored is deleted.', {
  deliveries: duration('30d', 86_400_000).describe('How long a settled delivery is kept.'),
  people: duration('90d', 86_400_000).describe('How long names and addresses are kept after the last contract.'),
}).transform(({ deliveries, people }) => ({ deliveriesMs: deliveries, peopleMs: people }));

const link = z.strictObject({
  timeZone: timeZone.default('UTC').describe("The zone the project's days are counted in: IANA."),
});

const log = section('The log on stderr.', {
  level: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The least important messages that are written.'),
  format: z
    .enum(['auto', 'json', 'text'])
    .default('auto')
    .describe('How they are written: "auto" is text on a terminal and JSON lines elsewhere.'),
});

export const Config = z
  .strictObject({
    $schema: z.string().optional().describe('Where editors find the schema; otherwise ignored.'),
    receiver,
    console: operatorConsole,
    database,
    marketplace,
    installs: mapOf(name, install).describe("Each customer's connection, by a name of yours."),
    tools: mapOf(name, tool).describe('Each annotation tool, by a name of yours.'),
    mail,
    removals,
    reconcile,
    subscription,
    feed,
    guidelines,
    usage,
    notifications,
    retention,
    links: mapOf(text, link).describe('Settings of a project, by its externalProjectId.'),
    log,
  })
  .transform(({ $schema: _, ...config }) => ({
    ...config,
    reconcile: { schedule: config.reconcile.schedule ?? usualSchedule(config.receiver) },
  }));

export type Config = z.output<typeof Config>;
export type ToolConfig = z.output<typeof tool>;

/** Without deliveries, Gangway polls every minute. */
export function usualSchedule({ publicUrl }: { publicUrl?: string | undefined }): string {
  return publicUrl === undefined ? '* * * * *' : '*/15 * * * *';
}
