import type { FindingKind, ListedFinding } from '../reconcile/drift/finding-store.ts';

/** The sides of drift: who should be in and is not, who is in without a reason, and who is in as another account. */
export const driftSides = {
  missing: ['missing'],
  extra: ['found_again', 'leak', 'stranger'],
  changed: ['id_changed', 'address_changed'],
} as const satisfies Record<string, readonly FindingKind[]>;

export type DriftSide = keyof typeof driftSides;

export const describeFinding: Record<FindingKind, string> = {
  missing: 'not in the tool although they should be',
  id_changed: 'in the tool with another id',
  found_again: 'in the tool again after they were removed',
  address_changed: 'their account has another address',
  stranger: 'belongs to no known trainer',
  leak: 'a managed address without a reason',
};

/** What happens next by itself, or what is left to an operator. */
export function sayNext({ kind, member }: Pick<ListedFinding, 'kind' | 'member'>): string {
  if (kind === 'missing') {
    return member?.wanted === false
      ? 'nothing: by now they are to be out'
      : 'they are looked for, and added back if they are not found';
  }
  if (kind === 'found_again') {
    const after = member?.removeAfter == null ? '' : `, not before ${member.removeAfter}`;
    return `they are removed again${after}, unless a contract begins`;
  }
  if (kind === 'id_changed') return 'they are looked at, and the new id is learnt';
  if (kind === 'address_changed') return 'an alert says what to do';
  return kind === 'leak' ? 'nothing by itself: find out who let it in' : 'nothing: strangers are left alone';
}
