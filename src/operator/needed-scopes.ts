/** What a platform token must be allowed to do, and what does not work without it. */
interface NeededScope {
  scope: string;
  /** What does not work without the scope. */
  without: string;
  /** Whether no trainer gets in without it. */
  isVital: boolean;
}

const neededScopes: readonly NeededScope[] = [
  {
    scope: 'project-links:read',
    without: 'nothing tells which projects belong to which contracts',
    isVital: true,
  },
  {
    scope: 'contracts:read',
    without: 'what is lost on its way is never noticed, and budgets are not known',
    isVital: true,
  },
  {
    scope: 'participants:read',
    without: 'nothing tells who is on a contract, where an event did not',
    isVital: true,
  },
  {
    scope: 'participants:email',
    without: 'no trainer has a work address, and so none gets in',
    isVital: true,
  },
  {
    scope: 'webhooks:manage',
    without: 'its webhook endpoint can be neither seen nor looked after',
    isVital: false,
  },
  { scope: 'usage:write', without: 'work cannot be reported', isVital: false },
];

export function findMissingScopes(granted: readonly string[]): NeededScope[] {
  return neededScopes.filter(({ scope }) => !hasScope(granted, scope));
}

/** The right to write includes the right to read. */
export function hasScope(granted: readonly string[], scope: string): boolean {
  return granted.includes(scope) || granted.includes(scope.replace(/:read$/, ':write'));
}
