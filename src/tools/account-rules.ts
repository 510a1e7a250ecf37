import type { Adapter, Member } from '../adapters/adapter.ts';
import { isSameAddress } from '../lib/same-address.ts';

/** What may be done to accounts (design section 2, *Identity*). Pure. */

/**
 * Whether accounts of a tool may be ended, renamed or activated. Where customers share it, any of
 * them may name an address of anybody's: then only where all addresses are the marketplace's own.
 */
export function mayChangeAccounts(
  tool: string,
  installs: ReadonlyMap<string, { tool: string }>,
  managedDomains: readonly string[],
): boolean {
  return managedDomains.length > 0 || installsOf(tool, installs).length <= 1;
}

/** Those that share it, by name. */
function installsOf(tool: string, installs: ReadonlyMap<string, { tool: string }>): string[] {
  return [...installs].flatMap(([name, install]) => (install.tool === tool ? [name] : []));
}

/** What is so of a tool whose accounts may, or may not, be ended. */
function capabilitiesOf(
  { capabilities, removeAccount }: Pick<Adapter, 'capabilities' | 'removeAccount'>,
  mayChange: boolean,
): Pick<Adapter['capabilities'], 'removal' | 'readding'> {
  const isKept = removeAccount !== undefined && !mayChange;
  return isKept ? (capabilities.keepingAccount ?? capabilities) : capabilities;
}

/** Whether somebody who was removed can be added again, as far as is known. */
export function canBeReadded(adapter: Adapter | undefined, mayChange: boolean): boolean {
  return adapter === undefined || capabilitiesOf(adapter, mayChange).readding !== 'no';
}

/** A tool in which nobody's account is ended or changed, as several installs share it. */
export interface SharedAccounts {
  tool: string;
  /** By name. */
  installs: string[];
  /** How whoever is removed may still get in; null where they cannot. */
  stillIn: string | null;
  /** Whether whoever is removed cannot be added again. */
  isForGood: boolean;
}

/** Where accounts could be ended or changed, and are not (design section 2, *Identity*). */
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
  const what = `${names} share ${tool}, and marketplace.managedDomains is not set: no account is ended, renamed or activated in it`;
  const stays = stillIn === null ? '' : `, so that whoever is removed may still get in: ${stillIn}`;
  return `${what}${stays}${isForGood ? '; and they cannot be added again' : ''}`;
}

/** @param accounts that are never touched: addresses, or the tool's ids */
export function isProtected(accounts: readonly string[], { id, email }: Member): boolean {
  return accounts.some((account) => account === id || isSameAddress(account, email));
}
