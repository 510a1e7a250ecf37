import { methodOf, type Operation, pathOf } from '../../src/marketplace/contract/operation.ts';
import { describeApi } from '../../src/sandbox/openapi.ts';
import { type AccountWorld, openAccount } from './account-harness.ts';
import type { Answer } from './sandbox-harness.ts';
import { toStrictSchema } from './strict-schema.ts';

export type Calls = (operation: Operation, input?: object, token?: string) => Promise<Answer>;

/** Calls an operation of the contract. An answer without a refusal has exactly what its description allows. */
export function toCalls({ api }: AccountWorld): Calls {
  return async (operation, input = {}, token) => {
    const { path, rest } = fill(operation, { ...input });
    const method = methodOf(operation);
    const isQuery = method === 'GET' || method === 'DELETE';
    const query = new URLSearchParams(isQuery ? toTexts(rest) : {}).toString();
    const body = isQuery ? {} : { body: rest };
    const answer = await api(method, query === '' ? path : `${path}?${query}`, { ...body, ...(token && { token }) });
    if (answer.status < 300) strict(operation, answer);
    return answer;
  };
}

/** @returns the path with its fields, and what is left of the input */
function fill(operation: Operation, rest: Record<string, unknown>) {
  const path = pathOf(operation).replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const { [field]: value } = rest;
    delete rest[field];
    return encodeURIComponent(String(value));
  });
  return { path, rest };
}

function toTexts(input: object): [string, string][] {
  return Object.entries(input).map(([name, value]) => [name, String(value)]);
}

function strict(operation: Operation, { status, body }: Answer): void {
  const described = describeApi('', '', [{ operation }]).paths[pathOf(operation)]?.[methodOf(operation).toLowerCase()];
  const { content } = Object(Object(described?.responses)[status]);
  toStrictSchema(Object(content)['application/json'].schema).parse(body);
}

export const text = (words: string, id?: string) => ({
  type: 'paragraph',
  ...(id && { attrs: { id } }),
  content: [{ type: 'text', text: words }],
});
export const doc = (...content: object[]) => ({ type: 'doc', content });

/** An account with a manual of three pages: `Cars`, in it `Vans`, and `Signs`. */
export async function openManual() {
  const world = await openAccount();
  const call = toCalls(world);
  const { manualId, pageIds } = world.sandbox.createManual(world.accountId, {
    title: 'Streets',
    pages: [
      { title: 'Cars', content: doc(text('Draw a box.', 'n1'), text('Be exact.', 'n2')) },
      { title: 'Vans', content: doc(text('A van is a car.')), parent: 0 },
      { title: 'Signs' },
    ],
  });
  const [cars = '', vans = '', signs = ''] = pageIds;
  return { ...world, call, workspaceId: `wsp_${world.accountId}`, manualId, cars, vans, signs };
}
