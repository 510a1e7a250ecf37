import { randomBytes } from 'node:crypto';
import type { Adapter, Person } from '../adapters/adapter.ts';
import { createPassword } from '../tools/accounts.ts';

const sweepTimeoutMs = 15_000;

export type Canaries = ReturnType<typeof createCanaries>;

/** Made-up people, for trying a tool. */
export function createCanaries(emailDomain: string) {
  const prefix = `gangway-canary-${randomBytes(4).toString('hex')}`;
  const newPassword = createPassword();
  const used = new Set<number>();

  function person(index: number): Person {
    used.add(index);
    const trainerId = `${prefix}-${index}`;
    const email = `${trainerId}@${emailDomain}`;
    const displayName = `Gangway canary ${index}`;
    return { trainerId, email, displayName, memberId: null, newPassword };
  }

  async function removeFrom(adapter: Adapter, group: string, canary: Person): Promise<boolean> {
    const signal = AbortSignal.timeout(sweepTimeoutMs);
    try {
      const member = await adapter.findMember(group, canary, signal);
      if (member === null) return true;
      await adapter.removeMember(group, member, signal);
      return (await adapter.findMember(group, canary, signal)) === null;
    } catch {
      return false;
    }
  }

  return {
    /** The beginning of their ids and addresses. */
    prefix,
    person,
    /** Removes those who are still in these groups. @returns how many could not be removed */
    async sweep(adapter: Adapter, groups: readonly string[]): Promise<number> {
      let left = 0;
      for (const index of [...used]) {
        for (const group of groups) {
          if (!(await removeFrom(adapter, group, person(index)))) left += 1;
        }
      }
      return left;
    },
  };
}
