import { Refusal } from './error-response.ts';
import {
  linksOfInstall,
  type Milestone,
  type SandboxContract,
  type SandboxEndpoint,
  type SandboxInstall,
  type SandboxLink,
  type SandboxState,
  type Trainer,
} from './sandbox-state.ts';

export function toPublicInstall({ token, ...install }: SandboxInstall) {
  return {
    ...install,
    partnerApp: { id: 'app_sandbox', slug: 'gangway-sandbox', name: 'Gangway sandbox' },
    token: { id: token.id, name: token.name, scopes: token.scopes },
  };
}

export function toPublicLink({ installId: _, ...link }: SandboxLink) {
  return link;
}

export function toPublicContract({ id, status, job, title, startDate, endDate, createdAt }: SandboxContract) {
  return { id, status, jobId: job.id, title, startDate, endDate, createdAt };
}

export function toPublicMilestone({ id, name, amountUsd, volume, status }: Milestone) {
  return { id, name, amountUsd, volume, status };
}

/** For employers. */
export function toFreelancer({ opentrainUserId: userId, displayName, country }: Trainer) {
  return { userId, displayName, country, profilePath: `/trainers/${encodeURIComponent(userId)}` };
}

export function toListedContract(state: SandboxState, install: SandboxInstall, contract: SandboxContract) {
  const links = linksOfInstall(state, install).filter(({ jobId }) => jobId === contract.job.id);
  return { ...toPublicContract(contract), projectLinkIds: links.map(({ id }) => id) };
}

/** Without the scope, the consent or an address, `workEmail` is absent, never null. */
export function toParticipant(install: SandboxInstall, { workEmail, ...trainer }: Trainer) {
  const mayShow = install.piiConsent && install.token.scopes.includes('participants:email');
  return mayShow && workEmail !== null ? { ...trainer, workEmail } : trainer;
}

export function toPublicEndpoint({ installId: _, audience: __, secret: ___, ...endpoint }: SandboxEndpoint) {
  return endpoint;
}

interface Paged {
  cursor?: string | undefined;
  limit?: number | undefined;
}

/**
 * A page of a list in the answer's field `name`.
 *
 * @param cursorOf the cursor after a record; by default its number
 */
export function toPage<Name extends string, T>(
  name: Name,
  all: readonly T[],
  { cursor, limit = 25 }: Paged,
  cursorOf = (_record: T, index: number) => String(index + 1),
) {
  const cursors = all.map(cursorOf);
  const from = cursor === undefined ? 0 : cursors.indexOf(cursor) + 1;
  if (cursor !== undefined && from === 0) {
    throw new Refusal('invalid', 'cursor: this listing did not return it', { field: 'cursor' });
  }
  const page = { [name]: all.slice(from, from + limit) } as Record<Name, T[]>;
  return { ...page, nextCursor: from + limit < all.length ? (cursors[from + limit - 1] ?? null) : null };
}
