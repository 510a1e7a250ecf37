import { jobRule } from '../config/text-rules.ts';
import { secret } from '../config/values-schema.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { SourceKind } from '../domain/install.ts';
import { bindInstall, checkBinding, grantIdsOf, holdersOfGrant } from '../installs/binding-store.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import { saveConnectedInstall } from '../installs/install-store.ts';
import { toInstant } from '../lib/clock.ts';
import type { Grant } from '../marketplace/source.ts';
import { refuseOrphaning } from '../memberships/orphan-store.ts';
import { createLinkRouter, type RoutedInstalls } from '../memberships/wall.ts';
import { type Ensured, ensureEndpoint } from '../subscription/change-endpoint.ts';
import { sourceOf } from '../subscription/look-at-subscription.ts';
import { troubleOfError } from '../subscription/troubles.ts';
import { linkJobs, type Relinked, refuseJobs, relink, type WantedJob } from './change-links.ts';
import { type Check, ok, warning } from './check.ts';
import { checkContracts, checkGrant, checkJobs, checkSurplus, checkUnanswered } from './check-install.ts';

/**
 * Reads `job_1=street-signs`. A job may be given for several projects.
 *
 * @throws AppError `invalid`
 */
export function toWantedJobs(texts: readonly string[]): WantedJob[] {
  return texts.map((text) => {
    if (!jobRule.pattern.test(text)) throw new AppError('invalid', `The jobs of your account: ${jobRule.says}`);
    const end = text.indexOf('=');
    return { job: text.slice(0, end), project: text.slice(end + 1) };
  });
}

/** The tool that an install leads to, and the projects that it may reach. */
interface Destination {
  tool: string;
  projects: readonly string[];
}

export function describeDestination({ tool, projects }: Destination): string {
  return `tool ${tool}, projects ${projects.join(', ')}`;
}

export interface Connection {
  install: string;
  source: SourceKind;
  token: string;
  /** Of an account of your own. They are added to those that are linked. */
  jobs: readonly WantedJob[];
  /** Null if the configuration file has the install, and thereby its destination. */
  destination: Destination | null;
  acceptsOrphans: boolean;
  /** Whether the install may belong to another customer from now on. */
  acceptsOtherCustomer: boolean;
  /** Whether nobody has claimed the account yet, so that its token may do little. */
  isUnclaimed?: boolean;
}

interface Requested {
  install: string;
  /** By default the kind that the install has, or a platform. */
  source: SourceKind | undefined;
  jobs: readonly WantedJob[];
  hasToken: boolean;
  tool: string | undefined;
  projects: readonly string[] | undefined;
}

/**
 * Where an install leads. An install of the configuration is connected as it is written there: then the destination is
 * null, and `configured` is its token.
 *
 * @throws AppError `invalid` if that is impossible, or if the operator has to say more
 */
export function settleConnection(ctx: Pick<Context, 'config' | 'installs'>, requested: Requested) {
  const { install, jobs, hasToken, tool, projects } = requested;
  const { config, installs } = ctx;
  const source = settleSource(install, installs.get(install)?.source, requested.source);
  if (jobs.length > 0 && source !== 'employer') {
    const why = 'Jobs can be named only for your own account, with --employer';
    throw new AppError('invalid', `${why}. A customer links projects to jobs at the marketplace`);
  }
  const configured = config.installs.get(install);
  if (configured !== undefined) {
    if (!hasToken && tool === undefined && projects === undefined && jobs.length === 0) {
      return { source, destination: null, configured: configured.token };
    }
    throw new AppError('invalid', `${install} is in the configuration. Change its token, tool, projects or jobs there`);
  }
  return { source, destination: settleDestination(ctx, requested), configured: undefined };
}

/**
 * The requested destination, or the current one, or the only one there is.
 *
 * @throws AppError `invalid` if the operator has to name it, because customers are walled off from each other
 */
function settleDestination(
  { config, installs }: Pick<Context, 'config' | 'installs'>,
  { install, ...requested }: Requested,
): Destination {
  const [before, tools] = [installs.get(install), [...config.tools.keys()]];
  const tool = requested.tool ?? before?.tool ?? onlyOf(tools);
  if (!tools.includes(tool)) {
    throw new AppError('invalid', `There is no tool "${tool}"; there are: ${tools.join(', ')}`);
  }
  const projects = requested.projects ?? (before?.tool === tool ? before.projects : undefined);
  if (projects !== undefined) return { tool, projects };
  if ([...installs].some(([name, other]) => name !== install && other.tool === tool)) {
    const why = `Other installs use the tool "${tool}" too`;
    throw new AppError('invalid', `${why}. Name this customer's projects with --projects`);
  }
  return { tool, projects: ['*'] };
}

function onlyOf([tool, ...others]: readonly string[]): string {
  if (tool === undefined)
    throw new AppError('invalid', 'No tool is configured. Add one under "tools" in the configuration');
  if (others.length === 0) return tool;
  throw new AppError('invalid', `Choose a tool with --tool: ${[tool, ...others].join(', ')}`);
}

/** @throws AppError `conflict` for an account of another kind: the stored data would be of another account */
function settleSource(install: string, known: SourceKind | undefined, wanted: SourceKind | undefined): SourceKind {
  if (known === undefined || wanted === undefined || wanted === known) return wanted ?? known ?? 'platform';
  const is = known === 'platform' ? 'the platform of a customer' : 'your own account';
  throw new AppError('conflict', `${install} is ${is}. Choose another name for an account of the other kind`);
}

/** @throws AppError `invalid` for a text that cannot be a token */
export function toToken(text: string): string {
  const checked = secret.safeParse(text.trim());
  if (checked.success) return checked.data;
  throw new AppError('invalid', `The token ${checked.error.issues[0]?.message}`);
}

export interface Connector {
  registry: InstallRegistry;
  by: By;
  /** Whether an endpoint that delivers to another address may be changed to deliver here. */
  mayMove: boolean;
  /** Asks the operator; false if nobody can answer. */
  confirm(question: string): Promise<boolean>;
  /** Called for every step and every problem. */
  onStep(check: Check): void;
}

export interface Established extends Omit<Relinked, 'links'> {
  grant: string;
  /** Null if the install is polled: without `receiver.publicUrl`, or because the marketplace refuses an endpoint. */
  endpoint: Ensured | null;
  /** How many projects are linked. */
  links: number;
}

/**
 * Connects a customer or an account of your own by its token: checks the grant, stores the install, links its jobs, and
 * creates the webhook endpoint. It may be repeated, and reconnects the install with another token.
 *
 * @throws AppError if the token is not good enough, with what to do about it
 */
export async function establishInstall(
  ctx: Context,
  connector: Connector,
  connection: Connection,
  signal: AbortSignal,
): Promise<Established> {
  const { by, confirm, onStep } = connector;
  const { install, jobs } = connection;
  const grant = await examineToken(ctx, connector, connection, signal);
  const known = await grantIdsOf(ctx, install);
  await keepInstall(ctx, connector, connection, grant);
  // From now on the install belongs to this customer, even if it belonged to another.
  await inTransaction(ctx.database, async (tx) => {
    await bindInstall(tx, install, grant);
    if (connection.acceptsOtherCustomer) await writeAudit(tx, by, 'connect --accept-other-customer', install);
  });
  const source = sourceOf(ctx, install);
  await linkJobs(ctx, by, install, jobs, signal);
  const endpoint = await ensure(ctx, connector, install, signal);
  const isReconnected = known.some((grantId) => grantId !== grant.id);
  const { links, ...again } = await relink(ctx, install, { isReconnected, confirm }, signal);
  onStep(ok('connect', `Linked projects: ${links.length}`));
  for (const check of checkJobs(install, links)) onStep(check);
  if (connection.acceptsOtherCustomer) {
    // The stored links of the earlier account stay until they are removed, and keep its people in.
    const checks = await checkContracts(install, source, signal).catch((error: unknown) => [
      checkUnanswered(install, source, toAppError(error)),
    ]);
    for (const check of checks) onStep(check);
  }
  return { grant: grant.id, endpoint, ...again, links: links.length };
}

const polled = 'No webhooks without receiver.publicUrl; the install is read every few minutes instead';

/** @returns null for an account that may not have a webhook, which is polled instead */
async function ensure(
  ctx: Context,
  { mayMove, onStep }: Connector,
  install: string,
  signal: AbortSignal,
): Promise<Ensured | null> {
  if (ctx.config.receiver.publicUrl === undefined) {
    onStep(ok('connect', polled));
    return null;
  }
  try {
    const endpoint = await ensureEndpoint(ctx, install, { mayMove, signal });
    onStep(ok('connect', `Webhook endpoint ${endpoint.how}, delivering here`));
    return endpoint;
  } catch (error) {
    const { code, status } = toAppError(error);
    const trouble = troubleOfError(ctx, install, toAppError(error));
    if (code === 'conflict' && status !== undefined) throw new AppError(code, `${trouble.says}. ${trouble.action}`);
    if (code !== 'forbidden') throw error;
    onStep(warning('connect', trouble.says, trouble.action));
    return null;
  }
}

/**
 * Checks the token and the requested jobs before anything is stored.
 *
 * @returns the grant of the token
 * @throws AppError with what to do about it
 */
async function examineToken(
  ctx: Context,
  { registry, onStep }: Connector,
  connection: Connection,
  signal: AbortSignal,
): Promise<Grant> {
  const { install, destination, jobs } = connection;
  requireTokenOf(connection.source, connection.token);
  const source = registry.openSource(
    connection,
    jobs.map(({ job, project }) => [job, project]),
  );
  const grant = await source.readGrant(signal).catch((error: unknown) => {
    const { says: why, action } = checkUnanswered(install, source, toAppError(error));
    throw new AppError(toAppError(error).code, toSentences(why, action));
  });
  const checks = [...checkGrant(install, source, grant), ...checkSurplus(install, source, grant)];
  const fatal = checks.filter(({ status }) => status === 'failure' && connection.isUnclaimed !== true);
  if (fatal[0] !== undefined) {
    const why = fatal.map((check) => check.says).join('; ');
    throw new AppError('forbidden', toSentences(why, fatal[0].action));
  }
  if (grant.isShared !== true) await refuseShared(ctx, install, grant.id);
  if (!connection.acceptsOtherCustomer) await checkBinding(ctx, install, grant, new Set(ctx.installs.keys()));
  const told = connection.isUnclaimed === true ? [] : checks;
  for (const check of [ok('connect', `Token valid: ${grant.id}`), ...told]) onStep(check);
  const installs = destination === null ? ctx.installs : installsWith(ctx, install, destination);
  await refuseJobs({ ...ctx, installs }, source, install, jobs, signal);
  return grant;
}

function toSentences(why: string, action: string | null): string {
  return action === null ? why : `${why}. ${action.charAt(0).toUpperCase()}${action.slice(1)}`;
}

/** Two installs with one grant would each act on all of it. */
async function refuseShared(ctx: Context, install: string, grantId: string): Promise<void> {
  const holders = await holdersOfGrant(ctx, grantId);
  const other = holders.find((holder) => holder !== install && ctx.installs.has(holder));
  if (other === undefined) return;
  throw new AppError('conflict', `The token belongs to ${other}, which is already connected`);
}

/** How the tokens of each kind of account begin (spec: part A section 5, platform-api.md). */
const prefixes: Record<SourceKind, string> = { platform: 'ot_ptk_', employer: 'ot_pat_' };

/**
 * The operator chooses the kind, so a token that is clearly of the other kind is a mistake. The marketplace judges tokens
 * with other prefixes.
 *
 * @throws AppError `invalid`
 */
function requireTokenOf(source: SourceKind, token: string): void {
  const isPlatform = source === 'platform';
  if (!token.startsWith(prefixes[isPlatform ? 'employer' : 'platform'])) return;
  throw new AppError(
    'invalid',
    isPlatform
      ? `This is a personal token (${prefixes.employer}…) of your own account at the marketplace. Connect it with --employer, or set "source": "employer" in the configuration`
      : `This is a platform token (${prefixes.platform}…) of a customer. Connect it without --employer. Your own account has a personal token (${prefixes.employer}…)`,
  );
}

/**
 * Stores the install, unless the configuration has it.
 *
 * @throws AppError `conflict` if memberships would be orphaned and that is not accepted
 */
async function keepInstall(
  ctx: Context,
  { registry, by, onStep }: Connector,
  { install, source, token, destination, acceptsOrphans }: Connection,
  { id: grantId, organizationId = null }: Grant,
): Promise<void> {
  if (destination === null) return;
  const next = installsWith(ctx, install, destination);
  if (!acceptsOrphans) await refuseOrphaning(ctx, createLinkRouter(next, ctx.adapters));
  const before = ctx.installs.get(install);
  const connectedAt = toInstant(ctx.clock.now());
  await saveConnectedInstall(ctx, { install, source, token, ...destination, grantId, organizationId, connectedAt });
  const change = { before: before && describeDestination(before), after: describeDestination(destination) };
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'connect', install, change));
  await registry.load();
  onStep(ok('connect', `${install} uses ${destination.tool}, projects ${destination.projects.join(', ')}`));
}

function installsWith({ installs }: Context, install: string, next: Destination): RoutedInstalls {
  return new Map([...installs, [install, next]]);
}
