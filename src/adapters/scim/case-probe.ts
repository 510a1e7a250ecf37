import { isObject, type Resource, textAt, toResource } from './resource.ts';
import { type ScimApi, type ScimCall, unless } from './scim-api.ts';

/**
 * Whether the server's filters mind the case of a name. By the RFC they do not; where they do,
 * somebody who was written otherwise is not found by them, and would be added a second time.
 */
export function createCaseProbe(api: ScimApi): (signal: AbortSignal) => Promise<boolean> {
  let known: boolean | undefined;

  async function firstUser(filter: object, call: ScimCall): Promise<Resource | undefined> {
    const query = { ...filter, startIndex: 1, count: 1 };
    const answer = await unless([400, 404, 501], api.get('/Users', query, call));
    const { Resources: users } = isObject(answer) ? answer : {};
    return Array.isArray(users) ? toResource(users[0]) : undefined;
  }

  /** Asks for anybody, by their name with its case turned round. */
  return async (signal) => {
    if (known !== undefined) return known;
    const call = { purpose: 'try a filter', signal };
    const somebody = await firstUser({}, call);
    const userName = (somebody && textAt(somebody, 'userName')) ?? '';
    const turned = [...userName].map(turn).join('');
    if (turned === userName) return false;
    const filter = `userName eq ${JSON.stringify(turned)}`;
    const found = await firstUser({ filter }, { ...call, hidden: [userName, turned] });
    known = found?.id !== somebody?.id;
    return known;
  };
}

function turn(letter: string): string {
  const lower = letter.toLowerCase();
  return letter === lower ? letter.toUpperCase() : lower;
}
