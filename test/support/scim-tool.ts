import { createScimState, refusal, type ScimDialect } from './scim-dialect.ts';
import { openScimFront, type ScimTool } from './scim-front.ts';

export interface ScimDialectTool extends ScimTool {
  /** What is kept of a group. */
  group(name: string): { [attribute: string]: unknown } | undefined;
  /** Puts an entry into a group. A text is the id of an account. */
  seedMember(group: string, entry: string | { value: string; [attribute: string]: unknown }): void;
  /** Deletes a group and makes one of the same name. */
  remakeGroup(name: string): void;
  forgetGroup(name: string): void;
  /** Deactivates an account, as another hand would. */
  deactivate(id: string): void;
  /** The ids in every group, by its name. */
  groups(): Map<string, string[]>;
}

/** A server with a SCIM dialect. */
export async function openScimTool(
  dialect: ScimDialect = {},
  groups: readonly string[] = [],
): Promise<ScimDialectTool> {
  const state = createScimState(dialect);
  const { Users, Groups } = state.stores;
  for (const displayName of groups) state.put('Groups', { displayName } as never);
  const groupOf = (name: string) => [...Groups.values()].find(({ displayName }) => displayName === name);
  const membersOf = (name: string) => groupOf(name)?.members ?? [];

  const front = await openScimFront(
    (request, response) => {
      const [type = '', id] = request.path.slice(1).split('/').map(decodeURIComponent);
      const isKnown = request.headers.authorization === `Bearer ${front.token}`;
      const answer = isKnown
        ? state.answer({
            method: request.method,
            type,
            id,
            body: request.body as unknown,
            query: request.query as Record<string, string>,
            contentType: request.headers['content-type'] ?? '',
            ifMatch: request.headers['if-match'],
          })
        : refusal(401, 'who are you?');
      response.status(answer.status);
      if (answer.body === undefined) response.end();
      else response.type('application/scim+json').send(JSON.stringify(answer.body));
    },
    (id) => Groups.get(id)?.members?.length ?? 0,
    dialect.token,
  );

  const tool: ScimDialectTool = {
    ...front,
    group: groupOf,
    groups: () =>
      new Map(
        [...Groups.values()].map(({ displayName = '', members = [] }) => [
          displayName,
          members.map(({ value }) => value),
        ]),
      ),
    users: () => [...Users.values()],
    seedMember(name, entry) {
      const value = typeof entry === 'string' ? { value: entry } : entry;
      Object.assign(groupOf(name) ?? {}, { members: [...membersOf(name), value] });
    },
    forgetGroup: (name) => void Groups.delete(groupOf(name)?.id ?? ''),
    deactivate: (id) => void Object.assign(Users.get(id) ?? {}, { active: false }),
    remakeGroup(name) {
      tool.forgetGroup(name);
      state.put('Groups', { displayName: name } as never);
    },
    members: (name) => membersOf(name).map(({ value }) => value),
    giveOut: (id, userName) => void state.put('Users', { userName, active: true }, id),
    seed(user, name) {
      const { id } = state.put('Users', { active: true, ...user });
      const group = name === undefined ? undefined : groupOf(name);
      const members = [...(group?.members ?? []), { value: id }];
      if (group !== undefined) state.put('Groups', { ...group, members }, group.id);
      return id;
    },
  };
  return tool;
}
