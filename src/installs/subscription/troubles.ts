import type { Context } from '../../context.ts';
import { type AppError, isTransient } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';

/** What keeps deliveries from coming and is not repaired by itself, and what to do about it. */
export interface Trouble {
  says: string;
  action: string;
}

/** The texts name the commands that help. */
export function toTroubles(install: string) {
  const connect = `gangway connect ${install}`;
  const rotate = `gangway endpoint rotate ${install}`;
  return {
    none: {
      says: `${install} has no webhook endpoint at the marketplace`,
      action: `make one: ${connect}`,
    },
    secretUnknown: (endpointId: string): Trouble => ({
      says: `the secret of ${install}'s webhook endpoint ${endpointId} is not known here, so its deliveries are refused`,
      action: `replace it: ${connect}`,
    }),
    another: (endpointId: string): Trouble => ({
      says: `another webhook endpoint of ${install}, ${endpointId}, delivers to the same address with a secret that is not known here`,
      action: 'delete it at the marketplace, if it is not needed',
    }),
    elsewhere: (endpointId: string, url: string | undefined): Trouble => ({
      says: `${install}'s webhook endpoint ${endpointId} delivers to ${toShownUrl(url)}`,
      action: `have it deliver here: ${connect} --move`,
    }),
    unknownSecret: (at: string): Trouble => ({
      says: `what is delivered to ${install} is signed with a secret that is not known here and refused, at ${at} for the last time, and nothing was accepted since`,
      action: `give its webhook endpoint a new secret: ${rotate}`,
    }),
    unmatched: {
      says: `the marketplace has disabled ${install}'s webhook endpoint, and what it had sent was signed with a secret that is not known here`,
      action: `give it a new one: ${rotate}`,
    },
    keepsFailing: (times: number): Trouble => ({
      says: `the marketplace keeps disabling ${install}'s webhook endpoint: it was enabled again ${times} times within 24 hours`,
      action: `see that receiver.publicUrl leads here from outside, then: ${rotate}`,
    }),
    failedAgain: (lastAt: string): Trouble => ({
      says: `the marketplace has disabled ${install}'s webhook endpoint again: nothing has come since it was enabled at ${lastAt}`,
      action: 'see that receiver.publicUrl leads here from outside; it is tried again within the hour',
    }),
  };
}

/** It may contain a password. */
export function toShownUrl(url: string | undefined): string {
  return url === undefined ? 'an address that the marketplace does not show' : maskText(url).slice(0, 200);
}

/** Of an endpoint that may be another program's: its address may be all that it takes to write to it. */
export function toShownHost(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : toShownUrl(undefined);
}

/** The marketplace refused a request or did not answer. */
export function troubleOfError({ sources }: Pick<Context, 'sources'>, install: string, error: AppError): Trouble {
  const says = `${install}'s webhook endpoint could not be checked or changed: ${maskText(error.message)}`;
  if (error.code === 'unauthenticated' || error.code === 'forbidden') {
    const action = `see that the token of ${install} is good and has the scope webhooks:manage, and that webhooks are on for the account; then: gangway connect ${install}`;
    return { says, action };
  }
  if (error.code === 'conflict') {
    return { says, action: `delete one that is not needed at the marketplace, then: gangway connect ${install}` };
  }
  const action = isTransient(error)
    ? `it is tried again by itself; if it keeps failing, ${sources.get(install)?.remedies.unreachable}`
    : `look at it: gangway endpoint status ${install}`;
  return { says, action };
}
