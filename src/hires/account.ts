import type { Context } from '../context.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { refusals } from '../marketplace/contract/refusals.ts';
import { detailsOf, reasonOf } from '../marketplace/refusal.ts';
import type { Account } from '../marketplace/source.ts';
import { sourceOf } from '../subscription/look-at-subscription.ts';

/** @throws AppError `conflict` for the platform of a customer, who hires at the marketplace */
export function accountOf(ctx: Context, install: string): Account {
  const { call, listWhole } = sourceOf(ctx, install);
  if (call !== undefined && listWhole !== undefined) return { call, listWhole };
  throw new AppError('conflict', `${install} is a customer, who hires at the marketplace. Name an account of your own`);
}

const mostNamed = 10;

/** The refusal with what the marketplace says of the request, and what a person can do. */
export function explainRefusal(thrown: unknown): AppError {
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
  return new AppError(code, texts.join('. '), {
    cause: error,
    ...(status && { status }),
    ...(retryAfterMs && { retryAfterMs }),
  });
}

/** The same for a promise. */
export async function explained<T>(work: Promise<T>): Promise<T> {
  return await work.catch((error: unknown) => Promise.reject(explainRefusal(error)));
}
