import type { Context } from '../context.ts';
import { type AppError, isTransient, refusesToken } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';

/** A problem that keeps deliveries from coming and that Gangway cannot repair, and what to do about it. */
export interface Trouble {
  says: string;
  action: string;
  /** Whether the next check may succeed. */
  isTransient?: boolean;
}

/** The texts name the commands that help. */
export function toTroubles(install: string) {
  const connect = `gangway connect ${install}`;
  const rotate = `gangway endpoint rotate ${install}`;
  return {
    none: {
      says: `${install} has no webhook endpoint at the marketplace`,
      action: `Create one: ${connect}`,
    },
    secretUnknown: (endpointId: string): Trouble => ({
      says: `Gangway does not know the secret of ${install}'s webhook endpoint ${endpointId}, so it refuses its webhooks`,
      action: `Replace it: ${connect}`,
    }),
    another: (endpointId: string): Trouble => ({
      says: `Another webhook endpoint of ${install}, ${endpointId}, delivers to the same address with an unknown secret`,
      action: 'Delete it at the marketplace if it is not needed',
    }),
    elsewhere: (endpointId: string, url: string | undefined): Trouble => ({
      says: `${install}'s webhook endpoint ${endpointId} delivers to ${toShownUrl(url)}`,
      action: `Have it deliver here: ${connect} --move`,
    }),
    unknownSecret: (at: string): Trouble => ({
      says: `Webhooks of ${install} are signed with an unknown secret and refused, last at ${at}; none was accepted since`,
      action: `Give its webhook endpoint a new secret: ${rotate}`,
    }),
    unmatched: {
      says: `The marketplace disabled ${install}'s webhook endpoint; its webhooks were signed with an unknown secret`,
      action: `Give it a new secret: ${rotate}`,
    },
    keepsFailing: (times: number): Trouble => ({
      says: `The marketplace keeps disabling ${install}'s webhook endpoint: Gangway enabled it ${times} times within 24 hours`,
      action: `Check that receiver.publicUrl is reachable from outside, then run ${rotate}`,
    }),
    failedAgain: (lastAt: string): Trouble => ({
      says: `The marketplace disabled ${install}'s webhook endpoint again: no webhook arrived since it was enabled at ${lastAt}`,
      action: 'Check that receiver.publicUrl is reachable from outside. Gangway retries within the hour',
    }),
  };
}

/** It may contain a password. */
export function toShownUrl(url: string | undefined): string {
  return url === undefined ? 'an address that the marketplace does not show' : maskText(url).slice(0, 200);
}

/**
 * Hides the path, because the endpoint may be another program's, and its full address may be all it takes to send to
 * it.
 */
export function toShownHost(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : toShownUrl(undefined);
}

/** The marketplace refused a request or did not answer. */
export function troubleOfError({ sources }: Pick<Context, 'sources'>, install: string, error: AppError): Trouble {
  const says = `${install}'s webhook endpoint could not be checked or changed: ${maskText(error.message)}`;
  if (refusesToken(error)) {
    const action = `Check that the token of ${install} is valid and has the scope webhooks:manage, and that webhooks are on for the account. Then run gangway connect ${install}`;
    return { says, action };
  }
  if (error.code === 'conflict') {
    return {
      says,
      action: `Delete an endpoint that is not needed at the marketplace, then run gangway connect ${install}`,
    };
  }
  const action = isTransient(error)
    ? `Wait. Gangway retries. If it keeps failing: ${sources.get(install)?.remedies.unreachable}`
    : `Run gangway endpoint status ${install}`;
  return { says, action, ...(isTransient(error) && { isTransient: true }) };
}
