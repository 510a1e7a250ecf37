import type { Buffer } from 'node:buffer';

/**
 * The context of each sealed value, which is its associated data: table, column and row. A value that was moved to another
 * row or column does not open. These texts must never change, because stored values would not open.
 */

export function bodyContext({ install, bodySha256 }: { install: string; bodySha256: Buffer }): string {
  return `delivery.body:${install}/${bodySha256.toString('hex')}`;
}

/** Also for the addresses of a membership, so that a sealed address can be copied to them. */
export function workEmailContext({ install, trainerId }: { install: string; trainerId: string }): string {
  return `person.work_email:${install}/${trainerId}`;
}

export function invitationContext({ membershipId }: { membershipId: number }): string {
  return `invitation.content:${membershipId}`;
}

export function credentialContext({ membershipId, generation }: { membershipId: number; generation: number }): string {
  return `intent.credential:${membershipId}/${generation}`;
}

export function endpointSecretContext({ install, endpointId }: { install: string; endpointId: string }): string {
  return `webhook_endpoint.secret:${install}/${endpointId}`;
}

export function tokenContext({ install }: { install: string }): string {
  return `connected_install.token:${install}`;
}

export function claimContext({ install }: { install: string }): string {
  return `claim.secrets:${install}`;
}

export function keptAnswerContext({ id }: { id: number }): string {
  return `kept_answer.answer:${id}`;
}

export function driftFindingContext({ id }: { id: string }): string {
  return `drift_finding.content:${id}`;
}

export function replacedTokenContext({ digest }: { digest: string }): string {
  return `replaced_token.token:${digest}`;
}

export const addressDigest = {
  column: 'workEmailDigest',
  textOf: (plain: Buffer) => plain.toString('utf8').toLowerCase(),
};

/** The address in a drift finding; empty if the tool shows none. */
export function addressIn(plain: Buffer): string {
  const { email } = JSON.parse(plain.toString('utf8')) as { email: string | null };
  return email?.toLowerCase() ?? '';
}
