import type { Context } from '../../context.ts';
import { type By, writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import type { SourceKind } from '../../domain/install.ts';
import { bindInstall, checkBinding } from '../../installs/binding-store.ts';
import { grantIdsOf, holdersOfGrant } from '../../installs/grant-store.ts';
import type { InstallRegistry } from '../../installs/install-registry.ts';
import { saveConnectedInstall } from '../../installs/install-store.ts';
import { type Ensured, ensureEndpoint } from '../../installs/subscription/ensure-endpoint.ts';
import { sourceOf } from '../../installs/subscription/look-at-subscription.ts';
import { troubleOfError } from '../../installs/subscription/troubles.ts';
import { toInstant } from '../../lib/clock.ts';
import { refuseOrphaning } from '../../memberships/find-orphans.ts';
import { createLinkRouter } from '../../memberships/link-router.ts';
import type { RoutedInstalls } from '../../memberships/wall.ts';
import type { Grant } from '../../sources/source.ts';
import { linkJobs, type Relinked, refuseJobs, relink } from '../change-links.ts';
import { type Check, ok, warning } from '../doctor/check.ts';
import { checkContracts, checkGrant, checkJobs, checkSurplus, checkUnanswered } from '../doctor/install-checks.ts';
import { type Connecting, type Destination, describeDestination } from './settle-wish.ts';

export interface Connector {
  registry: InstallRegistry;
  by: By;
  /** Whether an endpoint that delivers to another address may be changed to deliver here. */
  mayMove: boolean;
  /** Asks the operator; false where there is no operator to answer. */
  confirm(question: string): Promise<boolean>;
  /** Gets a message for every step, and for every problem. */
  onStep(check: Check): void;
}

export interface Established extends Omit<Relinked, 'links'> {
  grant: string;
  /** Null without `receiver.publicUrl`, and where the marketplace refuses it: then the install is polled. */
  endpoint: Ensured | null;
  /** How many projects are linked. */
  links: number;
}

/**
 * Takes the token of a customer, or of an employer's own account, to an installation that only has to be read: grant,
 * links, and webhook endpoint. To repeat it is harmless; with another token it reconnects the install.
 *
 * @throws AppError where the token is not good enough, with what to do about it
 */
export async function establishInstall(
  ctx: Context,
  connector: Connector,
  wish: Connecting,
  signal: AbortSignal,
): Promise<Established> {
  const { by, confirm, onStep } = connector;
  const { install, jobs } = wish;
  const grant = await examineToken(ctx, connector, wish, signal);
  const known = await grantIdsOf(ctx, install);
  await keepInstall(ctx, connector, wish, grant);
  // From now on the install is this customer's, even if it was another's.
  await inTransaction(ctx.database, async (tx) => {
    await bindInstall(tx, install, grant);
    if (wish.acceptsOtherCustomer) await writeAudit(tx, by, 'connect --accept-other-customer', install);
  });
  const source = sourceOf(ctx, install);
  await linkJobs(ctx, by, install, jobs, signal);
  const endpoint = await ensure(ctx, connector, install, signal);
  const isReconnected = known.some((grantId) => grantId !== grant.id);
  const { links, ...again } = await relink(ctx, install, { isReconnected, confirm }, signal);
  onStep(ok('connect', `Linked projects: ${links.length}`));
  for (const check of checkJobs(install, links)) onStep(check);
  if (wish.acceptsOtherCustomer) {
    // Links that are kept here outlive the account whose jobs they name: its people stay until they are removed.
    const checks = await checkContracts(install, source, signal).catch((error: unknown) => [
      checkUnanswered(install, source, toAppError(error)),
    ]);
    for (const check of checks) onStep(check);
  }
  return { grant: grant.id, endpoint, ...again, links: links.length };
}

const polled = 'No webhooks without receiver.publicUrl; the install is read every few minutes instead';

/** An account that may not have a webhook is polled instead. */
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
 * Whose token it is, and whether it and the wanted jobs are good enough. It comes before anything is stored, and says
 * what is known of the token by `onStep`.
 *
 * @returns the grant of the token
 * @throws AppError with what to do about it
 */
async function examineToken(
  ctx: Context,
  { registry, onStep }: Connector,
  wish: Connecting,
  signal: AbortSignal,
): Promise<Grant> {
  const { install, destination, jobs } = wish;
  requireTokenOf(wish.source, wish.token);
  const source = registry.openSource(
    wish,
    jobs.map(({ job, project }) => [job, project]),
  );
  const grant = await source.readGrant(signal).catch((error: unknown) => {
    const { says: why, action } = checkUnanswered(install, source, toAppError(error));
    throw new AppError(toAppError(error).code, toSentences(why, action));
  });
  const checks = [...checkGrant(install, source, grant), ...checkSurplus(install, source, grant)];
  const fatal = checks.filter(({ status }) => status === 'failure');
  if (fatal[0] !== undefined) {
    const why = fatal.map((check) => check.says).join('; ');
    throw new AppError('forbidden', toSentences(why, fatal[0].action));
  }
  if (grant.isShared !== true) await refuseShared(ctx, install, grant.id);
  if (!wish.acceptsOtherCustomer) await checkBinding(ctx, install, grant, new Set(ctx.installs.keys()));
  for (const check of [ok('connect', `Token valid: ${grant.id}`), ...checks]) onStep(check);
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
 * The kind is chosen by the operator, and never by the token: one that is plainly of the other kind is a mistake. A
 * token that begins otherwise is left to the marketplace.
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
 * Stores an install that was connected, where every instance finds it. One in the configuration file is not stored.
 *
 * @throws AppError `conflict` where memberships would be orphaned and that is not accepted
 */
async function keepInstall(
  ctx: Context,
  { registry, by, onStep }: Connector,
  { install, source, token, destination, acceptsOrphans }: Connecting,
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

/** All installs, with the new form of one of them. */
function installsWith({ installs }: Context, install: string, next: Destination): RoutedInstalls {
  return new Map([...installs, [install, next]]);
}
