import type { AppError } from '../domain/errors.ts';
import { provisioningOf } from '../domain/evidence-status.ts';
import { rotateFrom } from '../installs/rotate-token.ts';
import { toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { isGranted } from '../marketplace/contract/account.ts';
import type { Grant, Link, NeededScope, Source } from '../marketplace/source.ts';
import type { TokenRecord } from '../marketplace/source-records.ts';
import { type Check, failure, ok, warning } from './check.ts';

/** Checks of the marketplace's answers for one install. Only problems are listed. */

type AskedSource = Pick<Source, 'neededScopes' | 'remedies'>;

/** The call failed or was refused. */
export function checkUnanswered(
  install: string,
  { remedies }: AskedSource,
  error: AppError,
  name = nameOf(install),
): Check {
  switch (error.code) {
    case 'unauthenticated':
      return failure(name, error, remedies.tokenRefused(install));
    case 'forbidden':
      return failure(name, error, remedies.accessRefused);
    case 'conflict':
      return failure(
        name,
        error,
        'Fix that. Until then Gangway reads nothing for this install, and does nothing by it',
      );
    case 'rate_limited':
      return warning(name, maskText(error.message), 'Wait a minute, then run this again');
    default:
      return failure(name, error, remedies.unreachable);
  }
}

export function checkGrant(install: string, source: AskedSource, { status, token, piiConsent }: Grant): Check[] {
  if (status !== 'ACTIVE') {
    const says = `The install is ${status} at the marketplace, no longer ACTIVE`;
    return [failure(nameOf(install), says, source.remedies.grantInactive)];
  }
  return [...checkScopes(install, source, token?.scopes), ...(piiConsent === false ? [unshared(install, source)] : [])];
}

function unshared(install: string, { remedies }: AskedSource): Check {
  const says = 'The customer does not share work emails, so hired trainers wait for one outside the tool';
  return warning(`consent of ${install}`, says, remedies.addressesUnshared);
}

function checkScopes(install: string, source: AskedSource, granted: readonly string[] | undefined): Check[] {
  if (granted === undefined) {
    const says = 'The marketplace does not show the scopes of the token';
    return [warning(`scopes of ${install}`, says, 'Check them at the marketplace, where the customer made the token')];
  }
  return findMissingScopes(source, granted).map(({ scope, without, isVital }) => {
    const name = `scope ${scope} of ${install}`;
    const says = `The token lacks the scope ${scope}: ${without}`;
    const action = source.remedies.scopeMissing;
    return isVital ? failure(name, says, action) : warning(name, says, action);
  });
}

/** Unneeded scopes, with which a lost token would do more harm. */
export function checkSurplus(
  install: string,
  { neededScopes, optionalScopes }: Pick<Source, 'neededScopes' | 'optionalScopes'>,
  { token }: Grant,
): Check[] {
  if (optionalScopes === undefined) return [];
  const surplus = (token?.scopes ?? []).filter((granted) => neededScopes.every(({ scope }) => scope !== granted));
  if (surplus.length === 0) return [];
  const named = surplus.map((scope) => `${scope} (${optionalScopes.uses.get(scope) ?? 'not needed'})`).join(', ');
  return [
    warning(
      `extra scopes of ${install}`,
      `The token has more scopes than Gangway needs: ${named}`,
      optionalScopes.remedy(install),
    ),
  ];
}

export function checkExpiry(install: string, { token }: Grant, tokens: readonly TokenRecord[], now: Date): Check[] {
  const used = tokens.find(({ id }) => id === token?.id);
  const from = (used && rotateFrom(used)) ?? null;
  if (from === null) return [];
  const says = `The token expires at ${used?.expiresAt}`;
  const name = `token of ${install}`;
  if (toInstant(now) < from) return [ok(name, says)];
  return [warning(name, says, `Run gangway token rotate ${install}, with --keep for each scope that you hire with`)];
}

/** How many links are named. The rest are counted. */
const maxNamed = 5;

/** Links without a job, except those that the marketplace provisions itself. */
export function checkJobs(install: string, links: readonly Link[]): Check[] {
  const idle = links.filter(
    ({ jobId, provisioningMode }) => jobId === null && provisioningOf(provisioningMode) !== 'of_marketplace',
  );
  if (idle.length === 0) return [];
  const named = idle
    .slice(0, maxNamed)
    .map(({ id, externalProjectId }) => `${id} on ${externalProjectId}`)
    .join(', ');
  const more = idle.length > maxNamed ? ` and ${idle.length - maxNamed} more` : '';
  return [
    warning(
      `jobs of ${install}`,
      `Nobody can be hired through links with no job: ${named}${more}`,
      'Have the customer delete each link and add it again with a job',
    ),
  ];
}

/** Links whose contracts are refused although those of other links are not. */
export async function checkContracts(install: string, source: Source, signal: AbortSignal): Promise<Check[]> {
  const { unreadLinks = [] } = await source.listContracts({ status: 'active', wantsMore: () => false }, signal);
  return unreadLinks.map(({ linkId, refusal }) =>
    failure(
      `contracts of ${install} by link ${linkId}`,
      `${refusal}, so nobody new gets in by this link`,
      `Check that the job belongs to the account of the token, or run gangway links remove ${linkId} --install ${install}`,
    ),
  );
}

export function nameOf(install: string): string {
  return `install ${install}`;
}

function findMissingScopes({ neededScopes }: Pick<Source, 'neededScopes'>, granted: readonly string[]): NeededScope[] {
  return neededScopes.filter(({ scope }) => !isGranted(granted, scope));
}

/** Whether a token with these scopes may call the operation. */
export function mayCall(source: Source, granted: readonly string[], operation: keyof Source): boolean {
  return findMissingScopes(source, granted).every(({ operations }) => !operations.includes(operation));
}
