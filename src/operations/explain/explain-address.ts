import type { AddressMissing } from '../../domain/evidence.ts';
import type { ExplainedPerson } from '../../memberships/explain-store.ts';

/**
 * Pure: what is known of the address under which a trainer gets access.
 *
 * @param others installs of the same tool that know another address for the trainer
 */
export function explainAddress(
  person: ExplainedPerson | undefined,
  managedDomains: readonly string[],
  others: readonly string[],
): { holds: boolean; says: string; action: string } {
  const domain = person?.workEmailDomain ?? null;
  if (person?.hasAddress && domain === null) return { holds: true, says: 'Work email known', action: '' };
  if (domain === null) return { holds: false, ...unknownAddress[person?.addressMissing ?? 'unsaid'] };
  if (managedDomains.length > 0 && !managedDomains.includes(domain)) {
    return {
      holds: false,
      says: `The work email is at ${domain}, which is not a managed domain`,
      action: `Add ${domain} to marketplace.managedDomains if its people may be invited`,
    };
  }
  const says = `Work email known, at ${domain}`;
  if (others.length === 0) return { holds: true, says, action: '' };
  const have = `${others.join(', ')} ${others.length === 1 ? 'has' : 'have'}`;
  return { holds: true, says: `${says}; ${have} another, and each access keeps its own`, action: '' };
}

/** Why no address is known, and what makes one known. */
const unknownAddress: Record<AddressMissing | 'unsaid', { says: string; action: string }> = {
  unsaid: {
    says: 'Work email not known',
    action: 'Ask the customer for consent to share work emails (participants:email)',
  },
  no_scope: {
    says: 'Work email not known: the token may not read it',
    action: 'Give the token the scopes messages:read and participant_work_email:read',
  },
  refused: {
    says: 'Work email not known: the marketplace does not let the account read it',
    action: 'Have a person claim the account at the marketplace, and check that messages are on for it',
  },
  no_conversation: {
    says: 'Work email not known: it comes with a conversation, and the contract has none yet',
    action: 'If no conversation appears, write to the trainer at the marketplace',
  },
  not_shared: {
    says: 'Work email not known: the marketplace has not given the trainer one yet',
    action: 'Wait, and ask the marketplace if none appears',
  },
};
