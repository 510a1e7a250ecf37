import { writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { createLinkStore } from '../../evidence/link-store.ts';
import { createBindingStore } from '../../installs/binding-store.ts';
import { createGrantStore } from '../../installs/grant-store.ts';
import type { Ensured } from '../../installs/subscription/ensure-endpoint.ts';
import { sourceOf } from '../../installs/subscription/look-at-subscription.ts';
import { troubleOfError } from '../../installs/subscription/troubles.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import type { Grant, Source } from '../../sources/source.ts';
import type { Patience } from '../do-work.ts';
import { type Check, ok, warning } from '../doctor-checks.ts';
import { checkJobs, checkUnanswered, checkUnread } from '../install-checks.ts';
import type { ChangeDeps } from '../links/change-links.ts';
import { type Reconciled, type ReconcileNowDeps, reconcileNow } from '../reconcile-now.ts';
import { type ExamineTokenDeps, examineToken } from './examine-token.ts';
import { type KeepInstallDeps, keepInstall } from './keep-install.ts';
import { linkJobs } from './link-jobs.ts';
import { type RelinkDeps, type Relinked, relink } from './relink.ts';
import type { Connecting } from './settle-wish.ts';

export interface EstablishDeps extends KeepInstallDeps, ExamineTokenDeps {
  installStates: ChangeDeps['installStates'];
  clock: Clock;
  /** Has events delivered to the install; null where nothing can be delivered to us. */
  ensureEndpoint: ((install: string, signal: AbortSignal) => Promise<Ensured>) | null;
  confirm: RelinkDeps['confirm'];
}

export interface ConnectDeps extends ReconcileNowDeps, Omit<EstablishDeps, keyof ReconcileNowDeps> {}

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
  const known = await createGrantStore(deps.database).of(install);
  await keep(deps, wish, grant);
  await bind(deps, wish, grant);
  const source = sourceOf(registry, install);
  await linkJobs({ ...deps, installs: registry.installs }, source, install, jobs, signal);
  const endpoint = await ensure(deps, install, signal);
  const links = createLinkStore(deps.database);
  const relinked = await relink(
    { source, links, confirm: deps.confirm },
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
    await createBindingStore(database).bind(tx, install, grant);
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
