import type { Buffer } from 'node:buffer';

/**
 * The associated data that each sealed value is bound to: table, column and row, so that a value which
 * was moved to another place in the database does not open. What was sealed stays so: these never change.
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

/** Of the credential that an intent keeps. */
export function credentialContext(membershipId: number, generation: number): string {
  return `intent.credential:${membershipId}/${generation}`;
}

export function endpointSecretContext(install: string, endpointId: string): string {
  return `webhook_endpoint.secret:${install}/${endpointId}`;
}

/** Of the token of an install that was connected on the command line. */
export function tokenContext(install: string): string {
  return `connected_install.token:${install}`;
}
