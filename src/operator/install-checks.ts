import type { AppError } from '../domain/errors.ts';
import { provisioningOf } from '../domain/evidence-status.ts';
import { rotateFrom } from '../installs/tokens/plan-rotation.ts';
import { toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import type { Grant, Link, Source, UnreadLink } from '../sources/source.ts';
import type { TokenRecord } from '../sources/token-record.ts';
import { type Check, failure, ok, warning } from './doctor-checks.ts';
import { findMissingScopes } from './needed-scopes.ts';

/** What the marketplace's answers for one install mean, as checks; only problems are listed. */

type AskedSource = Pick<Source, 'neededScopes' | 'remedies'>;

/** The call failed, or was refused. */
export function checkUnanswered(install: string, { remedies }: AskedSource, error: AppError): Check {
  const name = nameOf(install);
  switch (error.code) {
    case 'unauthenticated':
      return failure(name, error, remedies.tokenRefused(install));
    case 'forbidden':
      return failure(name, error, remedies.accessRefused);
    case 'conflict':
      return failure(name, error, 'until then nothing is read for it, and nothing is done by it');
    case 'rate_limited':
      return warning(name, maskText(error.message), 'wait a minute, then run this again');
    default:
      return failure(name, error, remedies.unreachable);
  }
}

export function checkGrant(install: string, source: AskedSource, { status, token, piiConsent }: Grant): Check[] {
  const name = nameOf(install);
  if (status !== 'ACTIVE') {
    const says = `it is ${status} at the marketplace, no longer ACTIVE`;
    return [failure(name, says, source.remedies.grantInactive)];
  }
  return [...checkScopes(name, source, token?.scopes), ...(piiConsent === false ? [unshared(name, source)] : [])];
}

function unshared(name: string, { remedies }: AskedSource): Check {
  const says = 'the customer does not share work addresses: hired trainers wait for one, and are in no tool';
  return warning(name, says, remedies.addressesUnshared);
}

function checkScopes(name: string, source: AskedSource, granted: readonly string[] | undefined): Check[] {
  if (granted === undefined) {
    const says = 'the marketplace does not tell what its token may do';
    return [warning(name, says, 'look at it there, where the customer has made it')];
  }
  return findMissingScopes(source, granted).map(({ scope, without, isVital }) => {
    const says = `its token lacks the scope ${scope}: ${without}`;
    const action = source.remedies.scopeMissing;
    return isVital ? failure(name, says, action) : warning(name, says, action);
  });
}

/** What the token may do beyond what is needed: a token that is lost does no more harm than it must. */
export function checkSurplus(
  install: string,
  { neededScopes, optionalScopes }: Pick<Source, 'neededScopes' | 'optionalScopes'>,
  { token }: Grant,
): Check[] {
  if (optionalScopes === undefined) return [];
  const surplus = (token?.scopes ?? []).filter((granted) => neededScopes.every(({ scope }) => scope !== granted));
  if (surplus.length === 0) return [];
  const named = surplus.map((scope) => `${scope} (${optionalScopes.uses.get(scope) ?? 'for nothing'})`).join(', ');
  return [warning(nameOf(install), `its token may do more than is needed: ${named}`, optionalScopes.remedy(install))];
}

export function checkExpiry(install: string, { token }: Grant, tokens: readonly TokenRecord[], now: Date): Check[] {
  const used = tokens.find(({ id }) => id === token?.id);
  const from = (used && rotateFrom(used)) ?? null;
  if (from === null) return [];
  const says = `its token expires at ${used?.expiresAt}`;
  if (toInstant(now) < from) return [ok(nameOf(install), says)];
  return [warning(nameOf(install), says, `gangway token rotate ${install}`)];
}

/** At most so many are named. The rest is only counted. */
const maxNamed = 5;

/** Links that the marketplace provisions itself need nothing of us. */
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
      nameOf(install),
      `links without a job, by which no trainer ever gets in: ${named}${more}`,
      'let the customer link the project to a job: the link is to be deleted, and made again',
    ),
  ];
}

/** Links whose contracts are refused, while those of others are answered. */
export function checkUnread(install: string, unread: readonly UnreadLink[]): Check[] {
  return unread.map(({ linkId, refusal }) =>
    failure(
      nameOf(install),
      refusal,
      `nobody new gets in by it: see that the job belongs to the account of the token, or: gangway links remove ${linkId} --install ${install}`,
    ),
  );
}

export function nameOf(install: string): string {
  return `install ${install}`;
}
