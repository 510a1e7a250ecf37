import type { Context } from '../context.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { refusals } from '../marketplace/contract/refusals.ts';
import { detailsOf, reasonOf } from '../marketplace/refusal.ts';
import type { Account } from '../marketplace/source.ts';
import { sourceOf } from '../subscription/look-at-subscription.ts';

/**
 * The account, whose refusals say what a person can do.
 *
 * @throws AppError `conflict` for the platform of a customer, who hires at the marketplace
 */
export function accountOf(ctx: Context, install: string): Account {
  const { call, listWhole } = sourceOf(ctx, install);
  if (call !== undefined && listWhole !== undefined)
    return { call: explaining(call), listWhole: explaining(listWhole) };
  throw new AppError('conflict', `${install} is a customer, who hires at the marketplace. Name an account of your own`);
}

const mostNamed = 10;

/** The refusal with what the marketplace says of the request, and what a person can do. */
function explainRefusal(thrown: unknown): AppError {
  const error = toAppError(thrown);
  const { reasons, fieldErrors, validation, limit, windowHours } = Object(detailsOf(error));
  const says = [
    ...[reasons ?? []].flat(),
    ...Object.entries(Object(fieldErrors)).map(([field, faults]) => `${field}: ${String(faults)}`),
    ...[Object(validation).missingFields ?? []].flat().map((field) => `${Object(field).field} is missing`),
    ...(typeof limit === 'number' ? [`at most ${limit} in ${windowHours} hours`] : []),
  ];
  const reason = reasonOf(error);
  const texts = [error.message, ...says.slice(0, mostNamed).map(String), ...(reason ? [refusals[reason][2]] : [])];
  const { code, status, retryAfterMs } = error;
  return new AppError(code, texts.join('. '), { cause: error, status, retryAfterMs });
}

/** The same call, whose refusals say so. */
export function explaining<Call extends (...sent: never[]) => Promise<unknown>>(call: Call): Call {
  const explained = (...sent: Parameters<Call>) =>
    call(...sent).catch((error: unknown) => Promise.reject(explainRefusal(error)));
  return explained as Call;
}
