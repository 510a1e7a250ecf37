import type { Operation } from './contract/operation.ts';
import { type Reason, refusals } from './contract/refusals.ts';

/** The marketplace's refusals: `{error, code, requestId, details}`, or OAuth's `{error, error_description}`. */
export interface Refusal {
  reason: Reason | undefined;
  details: unknown;
  /** What it means, for the message of the error. */
  says: string[];
}

/** Not in the errors themselves, because details may have links and texts that must not get into a log. */
const kept = new WeakMap<object, Refusal>();

export function keepRefusal(error: unknown, refusal: Refusal | undefined): void {
  if (error instanceof Error && refusal !== undefined) kept.set(error, refusal);
}

/** Why the marketplace refused the call, if it said so in a word of the catalogue. */
export function reasonOf(error: unknown): Reason | undefined {
  return refusalOf(error)?.reason;
}

/** The `details` of a refusal, as they came; undefined if there are none, or too many. They must not be logged. */
export function detailsOf(error: unknown): unknown {
  return refusalOf(error)?.details;
}

/** Also of an error that says more of it. */
function refusalOf(error: unknown): Refusal | undefined {
  return error instanceof Error ? (kept.get(error) ?? refusalOf(error.cause)) : undefined;
}

const maxDetailsChars = 65_536;

export function readRefusal({ errors }: Pick<Operation, 'errors'>, body: unknown): Refusal {
  const { error, details } = Object(body) as Record<string, unknown>;
  const within = Object(details) as Record<string, unknown>;
  const said = errors === 'oauth' ? error : within['reason'];
  const reason = isReason(said) ? said : undefined;
  const isShortEnough = (JSON.stringify(details)?.length ?? 0) <= maxDetailsChars;
  return { reason, details: isShortEnough ? details : undefined, says: explain(reason, within, String(error)) };
}

function isReason(word: unknown): word is Reason {
  return typeof word === 'string' && Object.hasOwn(refusals, word);
}

const mostScopes = 20;

/**
 * What a person must do first (spec: part A section 7).
 *
 * @param error the marketplace's own words, which may say the same
 */
function explain(reason: Reason | undefined, details: Record<string, unknown>, error: string): string[] {
  const { claimUrl, billingUrl, featureKey, unknownScopes } = details;
  const says: string[] = [];
  const means = reason === undefined ? '' : refusals[reason][1];
  if (reason !== undefined && isWebUrl(claimUrl)) says.push(`${means}, at ${claimUrl}`);
  else if (!error.toLowerCase().includes(means.toLowerCase())) says.push(means);
  if (isWebUrl(billingUrl)) says.push(`see ${billingUrl}`);
  if (isShort(featureKey)) says.push(`the feature ${featureKey} is off for the account: ask the marketplace for it`);
  if (Array.isArray(unknownScopes)) {
    says.push(`it knows no scope ${unknownScopes.filter(isShort).slice(0, mostScopes).join(', ')}`);
  }
  return says;
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 200;
}

function isWebUrl(value: unknown): value is string {
  return isShort(value) && /^https?:$/.test(URL.parse(value)?.protocol ?? '');
}
