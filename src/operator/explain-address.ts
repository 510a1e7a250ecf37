import type { AddressMissing } from '../domain/evidence.ts';
import type { ExplainedPerson } from '../memberships/explain-store.ts';

export interface JudgedAddress {
  holds: boolean;
  says: string;
  action: string;
}

/**
 * Pure: what is known of the address under which a trainer gets access.
 *
 * @param others installs of the same tool that know another address for the trainer
 */
export function explainAddress(
  person: ExplainedPerson | undefined,
  managedDomains: readonly string[],
  others: readonly string[],
): JudgedAddress {
  const domain = person?.workEmailDomain ?? null;
  if (person?.hasAddress && domain === null) return { holds: true, says: 'a work address is known', action: '' };
  if (domain === null) return { holds: false, ...unknownAddress[person?.addressMissing ?? 'unsaid'] };
  if (managedDomains.length > 0 && !managedDomains.includes(domain)) {
    return {
      holds: false,
      says: `the work address is of ${domain}`,
      action: `add ${domain} to marketplace.managedDomains if such people may be invited`,
    };
  }
  const says = `a work address of ${domain} is known`;
  if (others.length === 0) return { holds: true, says, action: '' };
  const names = others.join(', ');
  return { holds: true, says: `${says}; ${names} knows another for them: each access stands by itself`, action: '' };
}

/** Why no address is known, and what makes one known. */
const unknownAddress: Record<AddressMissing | 'unsaid', Omit<JudgedAddress, 'holds'>> = {
  unsaid: {
    says: 'no work address is known',
    action: 'ask the customer for consent to share work addresses (participants:email)',
  },
  no_scope: {
    says: 'no work address is known: the token may not read it',
    action: 'give the token the scopes messages:read and participant_work_email:read',
  },
  refused: {
    says: 'no work address is known: the marketplace refuses the account to read it',
    action: 'have a person claim the account at the marketplace, and see that messages are on for it',
  },
  no_conversation: {
    says: 'no work address is known: the contract has no conversation yet, in which it would be',
    action: 'write to the trainer at the marketplace if it stays so',
  },
  not_shared: {
    says: 'no work address is known: the marketplace has given the trainer none yet',
    action: 'wait, and ask the marketplace if it stays so',
  },
};
