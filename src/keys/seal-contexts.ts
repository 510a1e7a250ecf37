import type { Buffer } from 'node:buffer';

/**
 * The context of each sealed value, used as associated data: table, column and row. A value that was
 * moved to another row or column does not open. These texts never change, or sealed values would not open.
 */

export function bodyContext(install: string, bodySha256: Buffer): string {
  return `delivery.body:${install}/${bodySha256.toString('hex')}`;
}

export function workEmailContext({ install, trainerId }: { install: string; trainerId: string }): string {
  return `person.work_email:${install}/${trainerId}`;
}

export function invitationContext(membershipId: number): string {
  return `invitation.content:${membershipId}`;
}

/** For the credential of an intent. */
export function credentialContext(membershipId: number, generation: number): string {
  return `intent.credential:${membershipId}/${generation}`;
}

export function endpointSecretContext(install: string, endpointId: string): string {
  return `webhook_endpoint.secret:${install}/${endpointId}`;
}

/** For the token of an install that was connected by command. */
export function tokenContext(install: string): string {
  return `connected_install.token:${install}`;
}

/** For what an act by the API was answered with. */
export function keptAnswerContext(id: number): string {
  return `kept_answer.answer:${id}`;
}

/** For an account that a tool lists and that belongs to no known trainer. */
export function driftFindingContext(id: string): string {
  return `drift_finding.content:${id}`;
}

/** For a token that replaces another one. */
export function replacedTokenContext(digest: string): string {
  return `replaced_token.token:${digest}`;
}
