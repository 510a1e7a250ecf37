/** What is wrong with an adapter, or with a member, that others made. Pure. */

const required = ['check', 'groupFor', 'findMember', 'addMember', 'removeMember'];
const optional = [
  'identify',
  'findAccount',
  'findAccountById',
  'canonicalGroup',
  'removeAccount',
  'updateEmail',
  'listMembers',
  'renewInvitation',
  'resetInvitations',
  'usageScopeFor',
  'readUsage',
  'readGuidelines',
  'writeGuidelines',
];
const readdings: unknown[] = ['yes', 'new_account', 'no'];
const exclusives: unknown[] = ['membership', 'group', 'tool'];

/** The faults, as what is missing. None for an adapter. */
export function adapterFaults(value: unknown): string[] {
  if (!isObject(value)) return ['it makes no object'];
  return [
    ...required.filter((name) => typeof value[name] !== 'function').map((name) => `no ${name}()`),
    ...optional
      .filter((name) => !['undefined', 'function'].includes(typeof value[name]))
      .map((name) => `${name} is no function`),
    ...capabilityFaults(value['capabilities']),
  ];
}

function capabilityFaults(value: unknown): string[] {
  if (!isObject(value)) return ['no capabilities'];
  const { removal, readding, exclusive } = value;
  const { effect, reason } = isObject(removal) ? removal : {};
  const isHonest = effect === 'locks_out' || (effect === 'membership_only' && isText(reason));
  const faults: [boolean, string][] = [
    [isHonest, 'removal: {effect: "locks_out"} or {effect: "membership_only", reason: "…"}'],
    [readdings.includes(readding), 'readding: "yes", "new_account" or "no"'],
    [exclusives.includes(exclusive), 'exclusive: "membership", "group" or "tool"'],
  ];
  return faults.filter(([isRight]) => !isRight).map(([, fault]) => `no capabilities.${fault}`);
}

/** The faults of a member that an adapter answers. */
export function memberFaults(value: unknown): string[] {
  if (!isObject(value)) return ['no member'];
  const { id, email } = value;
  return [
    ...(isText(id) ? [] : ['a member whose id is no text']),
    ...(typeof email === 'string' || email === null ? [] : ['a member whose email is no text or null']),
  ];
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
