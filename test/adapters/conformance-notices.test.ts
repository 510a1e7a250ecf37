import { describe, expect, it } from 'vitest';
import type { Adapter, Member } from '../../src/adapters/adapter.ts';
import { conformanceCases } from '../../src/adapters/conformance.ts';
import { createAdapter } from '../../src/adapters/load-adapters.ts';
import { AppError } from '../../src/domain/errors.ts';
import { exampleSettings } from '../support/http-tool-settings.ts';
import { listAll } from '../support/list-all.ts';
import { openRestTool, type RestTool } from '../support/rest-tool.ts';

/** A fault that exactly this case of the suite must notice. */
interface Mistake {
  what: string;
  noticedBy: string;
  spoil(right: Adapter, tool: RestTool): Partial<Adapter>;
  /** For a tool that makes two members of one address. */
  isCareless?: true;
}

const groups = ['street-signs', 'street-lamps'] as const;

const mistakes: Mistake[] = [
  {
    what: 'finds a member every second time',
    noticedBy: 'gives the same answer each time it is asked',
    spoil: ({ findMember }) => {
      let count = 0;
      return {
        findMember: async (...asked) => (++count % 2 === 0 ? null : await findMember(...asked)),
      };
    },
  },
  {
    what: 'adds a second one of who was there before',
    noticedBy: 'finds a member from before, and does not add them a second time',
    isCareless: true,
    spoil: () => ({}),
  },
  {
    what: 'looks no further than an id',
    noticedBy: 'finds a member by address if their old id leads to no account',
    spoil: (right) => ({
      findMember: async (group, person, signal) => {
        if (person.memberId === null) return await right.findMember(group, person, signal);
        const members = await listAll(right, group, signal);
        return members.find(({ id }) => id === person.memberId) ?? null;
      },
    }),
  },
  {
    what: 'changes no address',
    noticedBy: 'gives one account another address',
    spoil: () => ({
      updateEmail: async (_group, _member, _email, signal) => signal.throwIfAborted(),
    }),
  },
  {
    what: 'changes the address of every member',
    noticedBy: 'gives one account another address',
    spoil: (right) => ({
      updateEmail: async (group, _member, email, signal) => {
        for (const member of await listAll(right, group, signal)) {
          await right.updateEmail?.(group, member, email, signal);
        }
      },
    }),
  },
  {
    what: 'ends no login',
    noticedBy: 'ends a login, and no other',
    spoil: () => ({ removeAccount: async () => undefined }),
  },
  {
    what: 'ends every login',
    noticedBy: 'ends a login, and no other',
    spoil: (right) => ({
      removeAccount: async (group, _member, signal) => {
        const members = await listAll(right, group, signal);
        for (const member of members) await right.removeMember(group, member, signal);
      },
    }),
  },
  {
    what: 'lists other addresses than it finds',
    noticedBy: 'lists each member that it finds, once',
    spoil: ({ listMembers }) => ({
      async *listMembers(group, signal) {
        for await (const member of listMembers?.(group, signal) ?? []) {
          yield { ...member, email: null };
        }
      },
    }),
  },
  {
    what: 'reads the first page only',
    noticedBy: 'finds every member, on any page',
    spoil: (right) => ({
      findMember: async (group, { email }, signal) => {
        const page = (await listAll(right, group, signal)).slice(0, 2);
        return page.find((member) => member.email === email) ?? null;
      },
    }),
  },
  {
    what: 'takes the first that a search finds',
    noticedBy: 'does not confuse people with similar addresses',
    spoil: (right) => ({
      findMember: async (group, { email }, signal) => {
        const members = await listAll(right, group, signal);
        return members.find((member) => member.email?.includes(email)) ?? null;
      },
    }),
  },
  {
    what: 'takes a wildcard in an address for one',
    noticedBy: 'does not confuse people with similar addresses',
    spoil: (right) => ({
      findMember: async (group, { email }, signal) => {
        const pattern = new RegExp(`^${email.replaceAll('_', '.').replaceAll('%', '.*')}$`, 'i');
        const members = await listAll(right, group, signal);
        return members.find((member) => pattern.test(member.email ?? '')) ?? null;
      },
    }),
  },
  {
    what: 'does not encode an address',
    noticedBy: 'accepts every address, or refuses it',
    spoil: ({ findMember }) => ({
      findMember: (group, person, signal) =>
        findMember(group, { ...person, email: person.email.replaceAll('+', ' ') }, signal),
    }),
  },
  {
    what: 'drops the tag of an address',
    noticedBy: 'accepts every address, or refuses it',
    spoil: ({ addMember }) => ({
      addMember: (group, person, signal) =>
        addMember(group, { ...person, email: person.email.replace(/^plus\+tag\./, '') }, signal),
    }),
  },
  {
    what: 'takes a refused token for no member',
    noticedBy: 'says what a refusal means, and quotes no secret',
    spoil: ({ findMember }) => ({
      findMember: (...asked) => findMember(...asked).catch(() => null),
    }),
  },
  {
    what: 'forgets how long it was asked to wait',
    noticedBy: 'says what a refusal means, and quotes no secret',
    spoil: ({ check }) => ({
      check: (signal) =>
        check(signal).catch(({ code, message, status }: AppError) => {
          throw new AppError(code, message, { status: status ?? 0 });
        }),
    }),
  },
  {
    what: 'keeps the token in the cause of an error',
    noticedBy: 'says what a refusal means, and quotes no secret',
    spoil: ({ removeMember }, { token }) => ({
      removeMember: (...asked) =>
        removeMember(...asked).catch(({ code, status = 0, retryAfterMs = 0 }: AppError) => {
          const cause = { headers: { authorization: `Bearer ${token}` } };
          throw new AppError(code, 'refused', { status, retryAfterMs, cause });
        }),
    }),
  },
  {
    what: 'names the person in an error, as a URL does',
    noticedBy: 'says what a refusal means, and quotes no secret',
    spoil: ({ findMember }) => ({
      findMember: (group, person, signal) =>
        findMember(group, person, signal).catch(({ code, status = 0, retryAfterMs = 0 }: AppError) => {
          const message = `GET /?email=${encodeURIComponent(person.email)}`;
          throw new AppError(code, message, { status, retryAfterMs });
        }),
    }),
  },
  {
    what: 'calls a time-out a mistake of its own',
    noticedBy: 'reports a tool that does not answer as unavailable',
    spoil: ({ addMember }) => ({
      addMember: (...asked) =>
        addMember(...asked).catch(() => {
          throw new AppError('internal', 'something went wrong');
        }),
    }),
  },
  {
    what: 'waits whatever its signal says',
    noticedBy: 'gives up a call that is under way',
    spoil: ({ removeMember }) => ({
      removeMember: (group, member) => removeMember(group, member, new AbortController().signal),
    }),
  },
  {
    what: 'answers from memory',
    noticedBy: 'believes only what the tool shows',
    spoil: ({ addMember, findMember, removeMember }) => {
      const known = new Map<string, Member>();
      return {
        addMember: async (group, person, signal) => {
          const member = await addMember(group, person, signal);
          known.set(group + person.trainerId, member);
          return member;
        },
        findMember: async (group, person, signal) =>
          known.get(group + person.trainerId) ?? (await findMember(group, person, signal)),
        removeMember,
      };
    },
  },
  {
    what: 'takes a removal for granted',
    noticedBy: 'believes only what the tool shows',
    spoil: ({ findMember, removeMember }) => {
      const removed = new Set<string>();
      return {
        removeMember: async (group, member, signal) => {
          await removeMember(group, member, signal);
          removed.add(member.id);
        },
        findMember: async (...asked) => {
          const member = await findMember(...asked);
          return member !== null && removed.has(member.id) ? null : member;
        },
      };
    },
  },
  {
    what: 'adds a second one where the first was not answered',
    noticedBy: 'finds a member whose addition was not answered, and does not add them again',
    isCareless: true,
    spoil: () => ({}),
  },
];

async function runCase({ noticedBy, spoil, isCareless }: Mistake): Promise<void> {
  const tool = await openRestTool({ refusesRepeats: isCareless !== true });
  const settings = exampleSettings(tool);
  const requests = { ...settings.requests, removeAccount: { path: '/users/{memberId}' } };
  const right = createAdapter('studio', 'http', { ...settings, requests });
  const found = conformanceCases.find(({ name }) => name === noticedBy);
  if (found === undefined) throw new Error(`there is no case "${noticedBy}"`);
  await found.run({
    adapter: { ...right, ...spoil(right, tool) },
    groups,
    hasEveryGroup: true,
    faults: tool.faults,
    crowd: 5,
    timeoutMs: 5000,
    person: (index) => ({
      trainerId: `cmu${index}`,
      email: `trainer.${index}@opentrain.work`,
      displayName: null,
      memberId: null,
    }),
    seed: async (group, { email }) => tool.seed(group, email),
  });
}

describe('the suite', () => {
  it.each(mistakes)('notices an adapter that $what', async (mistake) => {
    await expect(runCase(mistake)).rejects.toThrow();
  });

  it.each([...new Set(mistakes.map(({ noticedBy }) => noticedBy))])(
    'has nothing against a right one: %s',
    async (noticedBy) => {
      await runCase({ what: 'nothing', noticedBy, spoil: () => ({}) });
    },
  );
});
