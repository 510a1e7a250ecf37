import { randomInt } from 'node:crypto';
import type { Adapter, Member } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { isSameAddress } from '../lib/text.ts';

/**
 * Whether accounts of a tool may be ended, renamed or activated (docs/rules.md, Memberships). If customers share the
 * tool, each of them may name any address, so it is allowed only if all addresses belong to the marketplace's domains.
 */
export function mayChangeAccounts(
  tool: string,
  installs: ReadonlyMap<string, { tool: string }>,
  managedDomains: readonly string[],
): boolean {
  return managedDomains.length > 0 || !isShared(tool, installs);
}

export function mayChange({ installs, config }: Context, tool: string): boolean {
  return mayChangeAccounts(tool, installs, config.marketplace.managedDomains);
}

/** Whether several installs are connected to a tool. */
export function isShared(tool: string, installs: ReadonlyMap<string, { tool: string }>): boolean {
  return installsOf(tool, installs).length > 1;
}

function installsOf(tool: string, installs: ReadonlyMap<string, { tool: string }>): string[] {
  return [...installs].flatMap(([name, install]) => (install.tool === tool ? [name] : []));
}

function capabilitiesOf(
  { capabilities, removeAccount }: Pick<Adapter, 'capabilities' | 'removeAccount'>,
  mayChange: boolean,
): Pick<Adapter['capabilities'], 'removal' | 'readding'> {
  const isKept = removeAccount !== undefined && !mayChange;
  return isKept ? (capabilities.keepingAccount ?? capabilities) : capabilities;
}

/** Whether a removed member can be added again. Assumed if the adapter is unknown. */
export function canReturn(ctx: Context, tool: string): boolean {
  const adapter = ctx.adapters.get(tool);
  return adapter === undefined || capabilitiesOf(adapter, mayChange(ctx, tool)).readding !== 'no';
}

/** The tools in which Gangway ends and changes no accounts, because several installs share them, with a warning each. */
export function findSharedAccounts(
  adapters: ReadonlyMap<string, Adapter>,
  installs: ReadonlyMap<string, { tool: string }>,
  managedDomains: readonly string[],
): { tool: string; warning: string }[] {
  return [...adapters].flatMap(([tool, adapter]) => {
    const { removeAccount, updateEmail } = adapter;
    const changesNone = removeAccount === undefined && updateEmail === undefined;
    if (changesNone || mayChangeAccounts(tool, installs, managedDomains)) return [];
    const { removal, readding } = capabilitiesOf(adapter, false);
    const names = installsOf(tool, installs).join(', ');
    const what = `${names} share ${tool}, and marketplace.managedDomains is not set, so Gangway ends, renames and activates no account in it`;
    const stillIn = removal.effect === 'locks_out' ? '' : `; a removed member may still get in: ${removal.reason}`;
    const isForGood = readding === 'no' ? '; they cannot be added again' : '';
    return [{ tool, warning: `${what}${stillIn}${isForGood}` }];
  });
}

/** @param accounts the protected ones: addresses, or the tool's ids */
export function isProtected(accounts: readonly string[], { id, email }: Member): boolean {
  return accounts.some((account) => account === id || isSameAddress(account, email));
}

/** The tools whose calls die with the process that made them. */
export function findLocalTools(adapters: ReadonlyMap<string, Adapter>): string[] {
  return [...adapters].filter(([, { capabilities }]) => capabilities.endsWithProcess).map(([tool]) => tool);
}

/** Some tools require a character of each kind. Look-alikes are left out. */
const kinds = ['abcdefghjkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.'] as const;
const length = 24;

/** A random password of about 130 bits, with a character of every kind. */
export function createPassword(): string {
  const all = kinds.join('');
  for (;;) {
    const password = Array.from({ length }, () => all[randomInt(all.length)]).join('');
    const hasEvery = kinds.every((kind) => [...kind].some((one) => password.includes(one)));
    // A punctuation mark at the end is easily lost when the password is copied from a sentence.
    if (hasEvery && /[a-z\d]$/i.test(password)) return password;
  }
}
