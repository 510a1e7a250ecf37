import { randomInt } from 'node:crypto';
import type { Adapter, Member } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { isSameAddress } from '../lib/text.ts';

/** What may be done to accounts (docs/rules.md, Memberships). Pure. */

/**
 * Whether accounts of a tool may be ended, renamed or activated. If customers share the tool, any of them may name any
 * address, so it is allowed only if all addresses belong to the marketplace's domains.
 */
export function mayChangeAccounts(
  tool: string,
  installs: ReadonlyMap<string, { tool: string }>,
  managedDomains: readonly string[],
): boolean {
  return managedDomains.length > 0 || !isShared(tool, installs);
}

/** The same for a tool as it is configured. */
export function mayChange({ installs, config }: Context, tool: string): boolean {
  return mayChangeAccounts(tool, installs, config.marketplace.managedDomains);
}

/** Whether several installs are connected to a tool. */
export function isShared(tool: string, installs: ReadonlyMap<string, { tool: string }>): boolean {
  return installsOf(tool, installs).length > 1;
}

/** The installs that share it, in order of their names. */
function installsOf(tool: string, installs: ReadonlyMap<string, { tool: string }>): string[] {
  return [...installs].flatMap(([name, install]) => (install.tool === tool ? [name] : []));
}

/** The capabilities of a tool, depending on whether its accounts may be ended. */
function capabilitiesOf(
  { capabilities, removeAccount }: Pick<Adapter, 'capabilities' | 'removeAccount'>,
  mayChange: boolean,
): Pick<Adapter['capabilities'], 'removal' | 'readding'> {
  const isKept = removeAccount !== undefined && !mayChange;
  return isKept ? (capabilities.keepingAccount ?? capabilities) : capabilities;
}

/** Whether a removed member can be added again, as far as is known. */
export function canReturn(ctx: Context, tool: string): boolean {
  const adapter = ctx.adapters.get(tool);
  return adapter === undefined || capabilitiesOf(adapter, mayChange(ctx, tool)).readding !== 'no';
}

/** A tool in which no account is ended or changed because several installs share it. */
interface SharedAccounts {
  tool: string;
  /** Sorted by name. */
  installs: string[];
  /** How a removed member may still get in; null if that is impossible. */
  stillIn: string | null;
  /** Whether a removed member cannot be added again. */
  isForGood: boolean;
}

/** Finds the tools whose accounts could be changed but are not. */
export function findSharedAccounts(
  adapters: ReadonlyMap<string, Adapter>,
  installs: ReadonlyMap<string, { tool: string }>,
  managedDomains: readonly string[],
): SharedAccounts[] {
  return [...adapters].flatMap(([tool, adapter]) => {
    const { removeAccount, updateEmail } = adapter;
    const changesNone = removeAccount === undefined && updateEmail === undefined;
    if (changesNone || mayChangeAccounts(tool, installs, managedDomains)) return [];
    const { removal, readding } = capabilitiesOf(adapter, false);
    const stillIn = removal.effect === 'membership_only' ? removal.reason : null;
    return [{ tool, installs: installsOf(tool, installs), stillIn, isForGood: readding === 'no' }];
  });
}

export function describeSharedAccounts({ tool, installs, stillIn, isForGood }: SharedAccounts): string {
  const names = installs.join(', ');
  const what = `${names} share ${tool}, and marketplace.managedDomains is not set, so Gangway ends, renames and activates no account in it`;
  const stays = stillIn === null ? '' : `; a removed member may still get in: ${stillIn}`;
  return `${what}${stays}${isForGood ? '; they cannot be added again' : ''}`;
}

/** @param accounts that are never touched: addresses, or the tool's ids */
export function isProtected(accounts: readonly string[], { id, email }: Member): boolean {
  return accounts.some((account) => account === id || isSameAddress(account, email));
}

/** The tools whose calls end with the process that made them. */
export function findLocalTools(adapters: ReadonlyMap<string, Adapter>): string[] {
  return [...adapters].filter(([, { capabilities }]) => capabilities.endsWithProcess).map(([tool]) => tool);
}

/** Some tools require a character of each of these kinds. Characters that look alike are left out. */
const kinds = ['abcdefghjkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.'] as const;
const length = 24;

/** A new random password, some 130 bits strong, with a character of every kind. */
export function createPassword(): string {
  const all = kinds.join('');
  for (;;) {
    const password = Array.from({ length }, () => all[randomInt(all.length)]).join('');
    const hasEvery = kinds.every((kind) => [...kind].some((one) => password.includes(one)));
    // A punctuation mark at the end would get lost when the password is copied from a sentence.
    if (hasEvery && /[a-z\d]$/i.test(password)) return password;
  }
}
