import { AppError } from '../../domain/errors.ts';
import type { AddressMissing } from '../../domain/evidence.ts';
import type { Call } from '../http/caller.ts';
import { isGranted } from '../scopes.ts';
import type { Participant } from '../source.ts';
import { MemberAnswer } from './employer-schema.ts';

/** Who is asked for: by their contract, in the conversation that began with their hire. */
interface Hire {
  contractId: string;
  /** Null where the contract has none (yet). */
  conversationId: string | null;
}

type WorkEmail = Pick<Participant, 'workEmail' | 'addressMissing'>;

export type FindWorkEmail = (hire: Hire, signal: AbortSignal) => Promise<WorkEmail>;

const neededScopes = ['messages:read', 'participant_work_email:read'];

/** What a refusal says. Any other failure is one of the whole reading. */
const reasons: ReadonlyMap<AppError['code'], AddressMissing> = new Map([
  // The scopes were looked at before: an account that is not claimed, or has no messages, is left.
  ['forbidden', 'refused'],
  ['not_found', 'no_conversation'],
]);

/**
 * The work email is in the conversation that began with the hire, and nowhere else (spec: part B section 4.2).
 * Without it, the trainer waits: the reason says what an operator can do.
 *
 * @param scopesOf the scopes of the token; undefined before they are known
 */
export function createFindWorkEmail(call: Call, scopesOf: () => readonly string[] | undefined): FindWorkEmail {
  async function ask({ contractId, conversationId }: Hire, signal: AbortSignal): Promise<WorkEmail> {
    const query = { conversationId: conversationId ?? '', contractId, includeWorkEmail: 'true' };
    const path = `/messaging/management/messaging_management.members.get?${new URLSearchParams(query)}`;
    const operation = { path, purpose: 'read the work address of a trainer', answer: MemberAnswer };
    const workEmail = await call(operation, signal);
    return workEmail === null ? missing('not_shared') : { workEmail };
  }

  return async (hire, signal) => {
    const reason = findReason(hire, scopesOf() ?? neededScopes);
    return reason === null ? await ask(hire, signal).catch(missingWhereRefused) : missing(reason);
  };
}

/** What is known without a request. */
function findReason({ conversationId }: Hire, granted: readonly string[]): AddressMissing | null {
  if (!neededScopes.every((scope) => isGranted(granted, scope))) return 'no_scope';
  return conversationId === null ? 'no_conversation' : null;
}

function missingWhereRefused(error: unknown): WorkEmail {
  const reason = error instanceof AppError ? reasons.get(error.code) : undefined;
  if (reason === undefined) throw error;
  return missing(reason);
}

function missing(addressMissing: AddressMissing): WorkEmail {
  return { workEmail: null, addressMissing };
}
