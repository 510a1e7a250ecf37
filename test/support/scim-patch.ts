/** What a server makes of a PATCH, by the forms of it that it understands. Pure. */

export type PatchForm = 'rfc' | 'okta' | 'entra';

export interface Operation {
  op: string;
  path?: string;
  value?: unknown;
}

export interface PatchRules {
  forms: readonly PatchForm[];
  /** Whether "remove these members" removes them all. */
  removesAll: boolean;
  /** Whether a member who is added twice is in the group twice. */
  keepsDuplicates: boolean;
}

interface Entry {
  value: string;
}

/** @returns undefined for a form that is not understood */
export function patchUser(operation: Operation, { forms }: PatchRules): object | undefined {
  const { path, value } = operation;
  if (path === undefined) return forms.includes('okta') ? (value as object) : undefined;
  const isText = typeof value === 'string';
  if (!forms.includes(isText ? 'entra' : 'rfc')) return undefined;
  return { active: isText ? value === 'True' : value };
}

/** @returns undefined for a form that is not understood */
export function patchMembers(
  members: readonly Entry[],
  { op, path = '', value }: Operation,
  rules: PatchRules,
): Entry[] | undefined {
  const given = (value ?? []) as Entry[];
  if (op === 'add') return addMembers(members, given, rules);
  const [, id] = /^members\[value eq (".*")\]$/.exec(path) ?? [];
  if (!rules.forms.includes(id === undefined ? 'entra' : 'rfc')) return undefined;
  if (id !== undefined) return members.filter((one) => one.value !== JSON.parse(id));
  return rules.removesAll ? [] : without(members, given);
}

function addMembers(members: readonly Entry[], given: Entry[], rules: PatchRules): Entry[] {
  return [...(rules.keepsDuplicates ? members : without(members, given)), ...given];
}

function without(members: readonly Entry[], given: readonly Entry[]): Entry[] {
  return members.filter((one) => !given.some((other) => other.value === one.value));
}
