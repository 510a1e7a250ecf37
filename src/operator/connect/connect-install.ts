import type { Adapter } from '../../adapters/adapter.ts';
import { writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import type { SourceKind } from '../../domain/source-kind.ts';
import { bindInstall, checkBinding } from '../../installs/binding-store.ts';
import { grantIdsOf, holdersOfGrant } from '../../installs/grant-store.ts';
import type { InstallRegistry } from '../../installs/install-registry.ts';
import { type ConnectedInstall, saveConnectedInstall } from '../../installs/install-store.ts';
import type { Ensured } from '../../installs/subscription/ensure-endpoint.ts';
import { sourceOf } from '../../installs/subscription/look-at-subscription.ts';
import { troubleOfError } from '../../installs/subscription/troubles.ts';
import type { Storage } from '../../keys/storage.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { refuseOrphaning } from '../../memberships/check-orphans.ts';
import type { OrphanDeps } from '../../memberships/find-orphans.ts';
import { createLinkRouter } from '../../memberships/link-router.ts';
import type { RoutedInstalls } from '../../memberships/wall.ts';
import type { Grant, Source } from '../../sources/source.ts';
import type { Acting } from '../acting.ts';
import type { Patience } from '../do-work.ts';
import { type Check, ok, warning } from '../doctor-checks.ts';
import { checkGrant, checkJobs, checkSurplus, checkUnanswered, checkUnread } from '../install-checks.ts';
import { type Reconciled, type ReconcileNowDeps, reconcileNow } from '../reconcile-now.ts';
import { linkJobs, refuseJobs } from './link-jobs.ts';
import { type RelinkDeps, type Relinked, relink } from './relink.ts';
import { type Destination, describeDestination } from './settle-destination.ts';
import type { Connecting } from './settle-wish.ts';

export interface EstablishDeps extends KeepInstallDeps, ExamineTokenDeps {
  clock: Clock;
  /** Has events delivered to the install; null where nothing can be delivered to us. */
  ensureEndpoint: ((install: string, signal: AbortSignal) => Promise<Ensured>) | null;
  confirm: RelinkDeps['confirm'];
}

export interface ConnectDeps extends ReconcileNowDeps, EstablishDeps {
  clock: ReconcileNowDeps['clock'];
}

export interface Established {
  grant: string;
  /** Null without `receiver.publicUrl`, and where the marketplace refuses it: then the install is polled. */
  endpoint: Ensured | null;
  /** How many projects are linked. */
  links: number;
  relinked: Relinked['relinked'];
  missing: Relinked['missing'];
}

export interface Connected extends Reconciled, Established {}

/**
 * Takes the token of a customer, or of an employer's own account, to a working installation: grant, links, webhook
 * endpoint, and a first reconciliation. To repeat it is harmless; with another token it reconnects the install.
 *
 * @throws AppError where the token is not good enough, with what to do about it
 */
export async function connectInstall(deps: ConnectDeps, wish: Connecting, patience: Patience): Promise<Connected> {
  const established = await establishInstall(deps, wish, patience.signal);
  const [reconciled] = await reconcileNow(deps, [wish.install], patience, wish.acceptsOrphans);
  if (reconciled === undefined) throw new AppError('internal', 'Nothing was reconciled');
  return { ...reconciled, ...established };
}

/** The same without the reconciliation, for a running bridge: its loops reconcile the install by themselves. */
export async function establishInstall(
  deps: EstablishDeps,
  wish: Connecting,
  signal: AbortSignal,
): Promise<Established> {
  const { registry, onStep } = deps;
  const { install, jobs } = wish;
  const grant = await examineToken(deps, wish, signal);
  const known = await grantIdsOf(deps, install);
  await keep(deps, wish, grant);
  await bind(deps, wish, grant);
  const source = sourceOf(registry, install);
  await linkJobs({ ...deps, installs: registry.installs }, source, install, jobs, signal);
  const endpoint = await ensure(deps, install, signal);
  const relinked = await relink(
    { ...deps, source },
    install,
    known.some((grantId) => grantId !== grant.id),
    signal,
  );
  onStep(ok('connect', `projects that are linked: ${relinked.links.length}`));
  for (const check of checkJobs(install, relinked.links)) onStep(check);
  if (wish.acceptsOtherCustomer) for (const check of await checkContracts(source, install, signal)) onStep(check);
  const { relinked: again, missing } = relinked;
  return { grant: grant.id, endpoint, relinked: again, missing, links: relinked.links.length };
}

/** Links that are kept here outlive the account whose jobs they name: the people of its jobs stay until they are removed. */
async function checkContracts(source: Source, install: string, signal: AbortSignal): Promise<Check[]> {
  try {
    const { unreadLinks = [] } = await source.listContracts({ status: 'active', wantsMore: () => false }, signal);
    return checkUnread(install, unreadLinks);
  } catch (error) {
    return [checkUnanswered(install, source, toAppError(error))];
  }
}

const polled = 'nothing is delivered without receiver.publicUrl: it is read every few minutes instead';

/** An account that may have no webhook is read all the same. */
async function ensure(
  { ensureEndpoint, onStep }: EstablishDeps,
  install: string,
  signal: AbortSignal,
): Promise<Ensured | null> {
  if (ensureEndpoint === null) {
    onStep(ok('connect', polled));
    return null;
  }
  try {
    const endpoint = await ensureEndpoint(install, signal);
    onStep(ok('connect', `events are delivered here: its webhook endpoint was ${endpoint.how}`));
    return endpoint;
  } catch (error) {
    const { code, status } = toAppError(error);
    const trouble = troubleOfError(install, toAppError(error));
    if (code === 'conflict' && status !== undefined) throw new AppError(code, `${trouble.says}: ${trouble.action}`);
    if (code !== 'forbidden') throw error;
    onStep(warning('connect', trouble.says, trouble.action));
    return null;
  }
}

/** From now on the install is this customer's, even if it was another's. */
async function bind(
  { database, by }: EstablishDeps,
  { install, acceptsOtherCustomer }: Connecting,
  grant: Grant,
): Promise<void> {
  await inTransaction(database, async (tx) => {
    await bindInstall(tx, install, grant);
    if (acceptsOtherCustomer) await writeAudit(tx, by, 'connect --accept-other-customer', install);
  });
}

/** An install in the configuration file is not stored in the database. */
async function keep(
  deps: EstablishDeps,
  { install, source, token, destination, acceptsOrphans }: Connecting,
  { id: grantId, organizationId = null }: Grant,
): Promise<void> {
  if (destination === null) return;
  const connectedAt = toInstant(deps.clock.now());
  const connected = { install, source, token, ...destination, grantId, organizationId, connectedAt };
  await keepInstall(deps, connected, acceptsOrphans);
  deps.onStep(
    ok('connect', `${install} leads to ${destination.tool}, for the projects ${destination.projects.join(', ')}`),
  );
}

interface ExamineTokenDeps extends Storage {
  registry: InstallRegistry;
  adapters: ReadonlyMap<string, Adapter>;
  /** Gets a message for every step, and for every problem. */
  onStep(check: Check): void;
}

/**
 * Whose token it is, and whether it and the wanted jobs are good enough. It comes before anything is stored, and says
 * what is known of the token by `onStep`.
 *
 * @returns the grant of the token
 * @throws AppError with what to do about it
 */
async function examineToken(deps: ExamineTokenDeps, wish: Connecting, signal: AbortSignal): Promise<Grant> {
  const { registry, adapters } = deps;
  const { install, destination, jobs } = wish;
  requireTokenOf(wish.source, wish.token);
  const source = registry.openSource(
    wish,
    jobs.map(({ job, project }) => [job, project]),
  );
  const grant = await readGrant(deps, source, wish, signal);
  const installs = destination === null ? registry.installs : installsWith(registry, install, destination);
  await refuseJobs({ installs, adapters }, source, install, jobs, signal);
  return grant;
}

async function readGrant(
  deps: ExamineTokenDeps,
  source: Source,
  { install, acceptsOtherCustomer }: Connecting,
  signal: AbortSignal,
): Promise<Grant> {
  const grant = await source.readGrant(signal).catch((error: unknown) => {
    const { says: why, action } = checkUnanswered(install, source, toAppError(error));
    throw new AppError(toAppError(error).code, `${why}. ${action}`);
  });
  const checks = [...checkGrant(install, source, grant), ...checkSurplus(install, source, grant)];
  const [fatal, ...others] = checks.filter(({ status }) => status === 'failure');
  if (fatal !== undefined) {
    const why = [fatal, ...others].map((check) => check.says).join('; ');
    throw new AppError('forbidden', `${why}. ${fatal.action}`);
  }
  if (grant.isShared !== true) await refuseShared(deps, install, grant.id);
  if (!acceptsOtherCustomer) {
    const installs = new Set(deps.registry.installs.keys());
    await checkBinding(deps, install, grant, installs);
  }
  deps.onStep(ok('connect', `the token is good: ${grant.id}`));
  for (const check of checks) deps.onStep(check);
  return grant;
}

/** Two installs with one grant would each act on all of it. */
async function refuseShared(deps: ExamineTokenDeps, install: string, grantId: string): Promise<void> {
  const holders = await holdersOfGrant(deps, grantId);
  const other = holders.find((holder) => holder !== install && deps.registry.installs.has(holder));
  if (other === undefined) return;
  throw new AppError('conflict', `The token is of ${other}, which is connected already`);
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
  if (source === 'platform' && token.startsWith(prefixes.employer)) {
    throw new AppError(
      'invalid',
      `This is a personal token (${prefixes.employer}…), of your own account at the marketplace: connect that with --employer, or "source": "employer" in the configuration`,
    );
  }
  if (source === 'employer' && token.startsWith(prefixes.platform)) {
    throw new AppError(
      'invalid',
      `This is a platform token (${prefixes.platform}…), which a customer gives: connect them without --employer; your own account has a personal token (${prefixes.employer}…)`,
    );
  }
}

interface KeepInstallDeps extends Acting, OrphanDeps {
  registry: InstallRegistry;
  adapters: ReadonlyMap<string, Adapter>;
}

/**
 * Stores an install that was connected, where every instance finds it.
 *
 * @param acceptsOrphans whether to go on although memberships would be orphaned
 * @throws AppError `conflict` where memberships would be orphaned
 */
async function keepInstall(deps: KeepInstallDeps, install: ConnectedInstall, acceptsOrphans: boolean): Promise<void> {
  const { database, registry, adapters, by } = deps;
  const next = installsWith(registry, install.install, install);
  if (!acceptsOrphans) await refuseOrphaning(deps, createLinkRouter(next, adapters));
  const before = registry.installs.get(install.install);
  await saveConnectedInstall(deps, install);
  const change = {
    before: before === undefined ? null : describeDestination(before),
    after: describeDestination(install),
  };
  await inTransaction(database, (tx) => writeAudit(tx, by, 'connect', install.install, change));
  await registry.load();
}

/** All installs, with one of them as it is to be. */
function installsWith({ installs }: InstallRegistry, install: string, next: Destination): RoutedInstalls {
  return new Map([...installs, [install, next]]);
}
