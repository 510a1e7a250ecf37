import type { Adapter } from '../../adapters/adapter.ts';
import type { Database } from '../../db/database.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import type { SourceKind } from '../../domain/source-kind.ts';
import { createBindingStore } from '../../installs/binding-store.ts';
import { createGrantStore } from '../../installs/grant-store.ts';
import type { InstallRegistry } from '../../installs/install-registry.ts';
import type { Grant, Source } from '../../sources/source.ts';
import { type Check, ok } from '../doctor-checks.ts';
import { checkGrant, checkSurplus, checkUnanswered } from '../install-checks.ts';
import { installsWith } from './keep-install.ts';
import { refuseJobs } from './link-jobs.ts';
import type { Connecting } from './settle-wish.ts';

export interface ExamineTokenDeps {
  database: Database;
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
export async function examineToken(deps: ExamineTokenDeps, wish: Connecting, signal: AbortSignal): Promise<Grant> {
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
  { onStep, ...deps }: ExamineTokenDeps,
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
    await createBindingStore(deps.database).check(install, grant, installs);
  }
  onStep(ok('connect', `the token is good: ${grant.id}`));
  for (const check of checks) onStep(check);
  return grant;
}

/** Two installs with one grant would each act on all of it. */
async function refuseShared(
  { database, registry }: Pick<ExamineTokenDeps, 'database' | 'registry'>,
  install: string,
  grantId: string,
): Promise<void> {
  const holders = await createGrantStore(database).holdersOf(grantId);
  const other = holders.find((holder) => holder !== install && registry.installs.has(holder));
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
