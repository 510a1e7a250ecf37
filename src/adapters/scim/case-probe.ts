import { isObject, type Resource, textAt, toResource } from './resource.ts';
import { type ScimApi, type ScimCall, unless } from './scim-api.ts';

/**
 * Whether the server's filters respect the case of a name. By the RFC they do not. If they do, a person
 * whose name has another case is not found, and would be added a second time.
 */
export function createCaseProbe(api: ScimApi): (signal: AbortSignal) => Promise<boolean> {
  let known: boolean | undefined;

  async function firstUser(filter: object, call: ScimCall): Promise<Resource | undefined> {
    const query = { ...filter, startIndex: 1, count: 1 };
    const answer = await unless([400, 404, 501], api.get('/Users', query, call));
    const { Resources: users } = isObject(answer) ? answer : {};
    return Array.isArray(users) ? toResource(users[0]) : undefined;
  }

  /** Asks for any account by its name with the case inverted. */
  return async (signal) => {
    if (known !== undefined) return known;
    const call = { purpose: 'try a filter', signal };
    const anyUser = await firstUser({}, call);
    const userName = (anyUser && textAt(anyUser, 'userName')) ?? '';
    const turned = [...userName].map(turn).join('');
    if (turned === userName) return false;
    const filter = `userName eq ${JSON.stringify(turned)}`;
    const found = await firstUser({ filter }, { ...call, hidden: [userName, turned] });
    known = found?.id !== anyUser?.id;
    return known;
  };
}

function turn(letter: string): string {
  const lower = letter.toLowerCase();
  return letter === lower ? letter.toUpperCase() : lower;
}
