import { randomBytes } from 'node:crypto';
import type { Adapter, Person } from '../../src/adapters/adapter.ts';
import type { ConformanceHarness } from '../../src/adapters/conformance/harness.ts';
import { createAdapter } from '../../src/adapters/load-adapters.ts';
import { actAs, addRow, createUser, type DoccanoSite, type DoccanoUser, makeProject } from './doccano-site.ts';

/** The adapter as an operator would set it up. */
export function doccanoAdapter({ url, admin }: DoccanoSite, changes: object = {}): Adapter {
  return createAdapter('studio', 'doccano', { url, ...admin, ...changes });
}

const passwords = new Map<string, string>();

/** A person who gets a made-up password, the same at every try. */
export function doccanoPerson(name: string): Person & { newPassword: string } {
  const newPassword = passwords.get(name) ?? randomBytes(15).toString('base64url');
  passwords.set(name, newPassword);
  return {
    trainerId: `cmu-${name}`,
    email: `${name}@opentrain.work`,
    displayName: `Name ${name}`,
    memberId: null,
    newPassword,
  };
}

/** The suite against a doccano, in two projects of its own. */
export async function doccanoHarness(site: DoccanoSite): Promise<ConformanceHarness> {
  const admin = await actAs(site, site.admin);
  const groups = [await makeProject(admin, 'signs'), await makeProject(admin, 'lamps')] as const;
  return {
    adapter: doccanoAdapter(site),
    groups: [String(groups[0]), String(groups[1])],
    person: (index) => doccanoPerson(`trainer.${index}`),
    hasEveryGroup: false,
    seed: (groupId, person) => seed(admin, groupId, person),
  };
}

async function seed(admin: DoccanoUser, groupId: string, { email }: Person): Promise<void> {
  const { body } = await createUser(admin, { username: email, password: 'Kq7-vLx2-mZ' });
  await addRow(admin, Number(groupId), (body as { id: number }).id);
}
